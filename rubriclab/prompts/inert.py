"""What quoted text must not hold as it stands: control tokens, hidden text, and markers of quotations.

A tokenizer can turn `<|im_end|>` inside a text into the token that ends the turn, and a model reads characters that no
person sees. A space after the first character keeps a control token readable and no longer a token; hidden text is
written out. Invisible characters that hold no text, such as the joiners of Persian, Hindi and emoji, stay.
"""

from __future__ import annotations

import re

_CONTROL = re.compile(
    # <|im_start|>, <|eot_id|>, <|channel|>, <|turn>, <turn|>; some models write the bar as U+FF5C.
    r"<(?=[|\uff5c][^\s<>|\uff5c]{1,64}[|\uff5c]?>|[^\s<>|\uff5c]{1,64}[|\uff5c]>"
    # <start_of_turn>, <end_of_text>
    r"|(?:start|begin|end)_of_\w{1,32}>"
    r"|/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response)>"
    r"|</?SYS>>"
    # The markers around quoted text; see `fenced`.
    r"|<<[^<>\n]* [0-9a-f]{16}>>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)

# Tag characters repeat ASCII invisibly. Their only use is in the flags of England, Scotland and Wales.
_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
# One variation selector chooses the form of the character before it; a run of them can only hold bytes.
_HIDDEN = re.compile(
    f"{_FLAGS}|(?P<tags>[\U000e0000-\U000e007f]+)|(?P<bytes>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}})"
)

# Searching for one kind of character takes a tenth of the time, and most texts have none.
_MAY_HIDE = re.compile("[\ufe00-\ufe0f\U000e0000-\U000e01ef]")


def inert(text: str) -> str:
    """Return `text` without control tokens of chat templates, markers of quotations and text in invisible characters.

    Each is replaced by visible characters that say what it was.
    """
    if not text.isascii() and _MAY_HIDE.search(text):
        text = _HIDDEN.sub(_written_out, text)
    return _CONTROL.sub(lambda found: f"{found[0]} ", text) if "<" in text or "[" in text else text


def _written_out(found: re.Match[str]) -> str:
    if found["tags"]:
        hidden = "".join(chr(ord(character) - 0xE0000) for character in found["tags"])
    elif found["bytes"]:
        codes = map(ord, found["bytes"])
        hidden = bytes(code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16 for code in codes).decode(
            "utf-8", "replace"
        )
    else:
        return found[0]
    return f"[hidden text: {''.join(filter(str.isprintable, hidden))}]"
