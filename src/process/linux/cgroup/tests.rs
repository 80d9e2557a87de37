use std::path::PathBuf;

use super::locate;

fn check(mounts: &str, groups: &str, expected: Option<&str>) {
    assert_eq!(locate(mounts.as_bytes(), groups.as_bytes()), expected.map(PathBuf::from), "{mounts}");
}

#[test]
fn the_own_group_is_found_below_the_unified_mount() {
    let unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
    check(unified, "0::/user.slice/a\n", Some("/sys/fs/cgroup/user.slice/a"));
    check(unified, "0::/\n", Some("/sys/fs/cgroup/"));
    let hybrid = "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    check(hybrid, "4:memory:/x\n0::/y\n", Some("/sys/fs/cgroup/unified/y"));
    check("33 23 0:28 /part /mnt/a\\040b rw - cgroup2 none rw\n", "0::/part/y\n", Some("/mnt/a b/y"));
}

#[test]
fn without_a_unified_mount_there_is_no_group() {
    check("31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "0::/\n", None);
    check("33 23 0:28 /part /mnt rw - cgroup2 none rw\n", "0::/other\n", None);
    check("30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "4:memory:/x\n", None);
}
