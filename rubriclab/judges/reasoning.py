"""Hidden reasoning that a server leaves in the text of a reply."""

from __future__ import annotations

import re

from rubriclab.judges.json_objects import json_objects

# Tags of DeepSeek, Qwen and others, Mistral's, and the channels of gpt-oss.
_TAG = re.compile(
    r"(?P<open><(?:think|thinking|thought)>|\[THINK\]|<\|channel\|>\s*(?:analysis|commentary)\b)"
    r"|(?P<end><\|end\|>)|</(?:think|thinking|thought)>|\[/THINK\]|<\|channel\|>\s*final(?:<\|message\|>)?",
    re.IGNORECASE,
)


def without_reasoning(text: str) -> str:
    """Return `text` without what stands between tags of reasoning, before a closing one alone or after an opening one.

    Tags in the strings of a complete JSON object are part of it.
    """
    if not _TAG.search(text):
        return text
    spans = [(found.begin, found.end) for found in json_objects(text)]
    kept, since, is_reasoning = "", 0, False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in spans) or (tag["end"] and not is_reasoning):
            continue
        if tag["open"]:
            if not is_reasoning:
                kept += text[since : tag.start()]
            is_reasoning = True
        else:
            kept = kept if is_reasoning else ""
            is_reasoning = False
        since = tag.end()
    return kept if is_reasoning else kept + text[since:]
