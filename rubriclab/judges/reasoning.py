"""Hidden reasoning that a server leaves in the text of a reply."""

from __future__ import annotations

import re

from rubriclab.judges.json_objects import json_objects

_WORD = r"[\w:.-]{0,30}?(?:think|thought|reason|reflect|analysis|scratch|monologue|deliberat)\w{0,10}"
_NAME = rf"{_WORD}(?:\s[^<>|\[\]]{{0,100}})?"
# Tags of any such name, as DeepSeek, Qwen and others have them; Mistral's; Kimi's; Cohere's; Gemma's; the channels of
# gpt-oss.
_TAG = re.compile(
    rf"</{_NAME}>|<\|(?:/|end_){_NAME}\|>|\[(?:/|END ){_NAME}\]|\u25c1/{_NAME}\u25b7|<unused95>|<channel\|>"
    r"|<\|channel\|>\s*final(?:<\|message\|>)?"
    rf"|(?P<open><{_NAME}>|<\|{_NAME}\|>|\[(?:BEGIN )?(?:THINK|REASON)(?:ING)?\]|\u25c1{_NAME}\u25b7"
    r"|<unused94>(?:thought\b)?|<\|channel>thought\b|<\|channel\|>\s*(?:analysis|commentary)\b)"
    r"|(?P<end><\|end\|>)"
    rf"|(?P<fence>^`{{3,10}} ?{_WORD}\s*?$)|(?P<fence_end>^`{{3,10}}\s*?$)",
    re.IGNORECASE | re.MULTILINE,
)


def without_reasoning(text: str) -> str:
    """Return `text` without what stands between tags of reasoning, before a closing one alone or after an opening one.

    A fence with such a name is one too, and ends with the next fence.

    Tags in the strings of a complete JSON object are part of it. So is a closing one alone while a brace is open: it
    may be quoted in a damaged verdict, which must not disappear.
    """
    if not _TAG.search(text):
        return text
    spans = [(found.begin, found.end) for found in json_objects(text)]
    kept, since, is_reasoning, is_fenced = "", 0, False, False
    for tag in _TAG.finditer(text):
        if any(begin < tag.start() < end for begin, end in spans) or (tag["end"] and not is_reasoning):
            continue
        if is_fenced != (tag["fence_end"] is not None):  # only the end of a fence closes it
            continue
        opens = tag["open"] or tag["fence"]
        if not opens and not is_reasoning and text.count("{", since, tag.start()) > text.count("}", since, tag.start()):
            continue
        if opens:
            if not is_reasoning:
                kept += text[since : tag.start()]
            is_reasoning, is_fenced = True, tag["fence"] is not None
        else:
            kept = kept if is_reasoning else ""
            is_reasoning = is_fenced = False
        since = tag.end()
    return kept if is_reasoning else kept + text[since:]
