//! What a tool's answer is for a model, which reads text only.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::tools::Outcome;

/// The text parts, and a line for each other part. Structured content stands in where there is no part at all.
pub(super) fn outcome(result: &CallToolResult, summary: String) -> Outcome {
    let is_error = result.is_error.unwrap_or(false);
    let has_text = result.content.iter().any(|part| matches!(part, ContentBlock::Text(_)));
    let structured = result.structured_content.as_ref().filter(|_| !has_text).map(ToString::to_string);
    let parts: Vec<String> = structured.into_iter().chain(result.content.iter().map(text)).collect();
    if parts.is_empty() {
        return Outcome::error("MCP tool returned no text content", summary);
    }
    Outcome { content: parts.join("\n"), is_error, summary }
}

fn text(part: &ContentBlock) -> String {
    match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => binary("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => binary("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("application/octet-stream");
                format!("{} of {uri}", binary("resource", kind, blob))
            }
            _ => "[resource of an unknown kind]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource link {:?}: {}]", link.name, link.uri),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

fn binary(kind: &str, mime_type: &str, base64: &str) -> String {
    format!("[{kind}: {mime_type}, {} bytes, not shown]", base64.trim_end_matches('=').len() * 3 / 4)
}
