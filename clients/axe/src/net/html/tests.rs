use super::text;

#[test]
fn pages_are_read_as_text() {
    for (html, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("<p>one</p><p>two</p>", "one two"),
        ("<p>one<p>two", "one two"),
        ("<ul><li>one<li>two</ul>end", "one two end"),
        ("a<br>b<hr/>c", "a b c"),
        ("foo<b>bar</b>baz", "foobar baz"),
        ("<title>T</title><script>if (a<b) { x('</p>') }</script>\n  body", "T body"),
        ("<style>p { color: red }</style>text", "text"),
        ("<SCRIPT>no</SCRIPT >yes", "yes"),
        ("<script>never closed", ""),
        ("a &amp; b &lt;c&gt; &eacute;&#x2014;&nbsp;d", "a & b <c> é— d"),
        ("x <!-- hidden <p> --> y", "x y"),
        (
            "<!DOCTYPE html><html><head><meta charset=utf-8></head><body>\n\n  one\t\ttwo\r\n</body></html>",
            "one two",
        ),
        ("<a href='x>y'>link</a>", "link"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<noscript>turn it on</noscript>", "turn it on"),
        ("unfinished <b", "unfinished"),
    ] {
        assert_eq!(text(html.as_bytes()), expected, "{html}");
    }
    assert_eq!(text(b"bad \xff bytes"), "bad \u{fffd} bytes");
}
