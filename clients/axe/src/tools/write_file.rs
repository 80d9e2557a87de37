//! `write_file`.

use axlr_client::tool::{ContentEncoding, WriteArguments, WriteMode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::toolbox::refusal;
use super::{Input, Outcome, Toolbox};
use crate::runtime;

pub(super) async fn run(tools: &Toolbox, input: Input<'_>) -> Result<Outcome, runtime::Error> {
    let target = match tools.target(input, true).await? {
        Ok(target) => target,
        Err(outcome) => return Ok(outcome),
    };
    let content = input.text("content").unwrap_or_default();
    let size = content.len();
    // The runtime's text holds no NUL; the file may.
    let (content, encoding) = match content.contains('\0') {
        true => (BASE64.encode(content), Some(ContentEncoding::Base64)),
        false => (content, None),
    };
    let arguments = WriteArguments {
        path: target.path.clone(),
        content,
        mode: WriteMode::Replace,
        expected_sha256: None,
        parents: Some(true),
        encoding,
        overwrite: Some(true),
    };
    let summary = format!("{} ({size} bytes)", target.summary());
    if let Err(error) = target.workspace.write(arguments).await {
        return Ok(refusal(&error, summary));
    }
    let mark = match &target.artifacts {
        Some(artifacts) => {
            artifacts.record(&target.path, size as u64);
            " (artifact)"
        }
        None => "",
    };
    Ok(Outcome::success(format!("wrote {size} bytes to {}{mark}", target.written), summary))
}
