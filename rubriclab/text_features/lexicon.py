"""Small closed word lists of English, made for the text features. All are lower case with straight apostrophes."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


ARTICLES_AND_POSSESSIVES = word_set("the a an my your his its our their")
PREPOSITIONS = word_set(
    "about above across after against along among around as at before behind below beneath beside between beyond by"
    " despite down during except for from in inside into like near of off on onto out outside over past per since"
    " through throughout till to toward towards under underneath until up upon via with within without"
)
CONJUNCTIONS = word_set("and or but nor so yet because although though while whereas if unless that than whether")
AUXILIARIES = word_set(
    "am is are was were be been being has have had having do does did doing will would shall should can could may"
    " might must isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't wouldn't shan't"
    " shouldn't can't cannot couldn't mustn't ain't"
)
REFERENCES = word_set(
    "he him his himself she her hers herself it its itself they them their theirs themselves he's she's it's they're"
    " he'd she'd they'd he'll she'll it'll they'll they've this that these those such that's"
)
FUNCTION_WORDS = (
    ARTICLES_AND_POSSESSIVES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | REFERENCES
    | word_set(
        "i me mine myself we us ours ourselves i'm i've i'll i'd we're we've we'll we'd you yours yourself yourselves"
        " you're you've you'll you'd who whom whose which what when where why how what's who's where's how's not no all"
        " any both each either every few less many more most much neither none one other others own same several some"
        " there there's here just only very too also then now again ever never always even still already almost quite"
        " rather really well oh yes yeah"
    )
)
CONNECTIVES = word_set(
    "and but so because although though however therefore thus hence moreover furthermore meanwhile instead"
    " otherwise nevertheless nonetheless besides then afterwards afterward finally eventually first second next"
    " later also still yet while whereas since when after before until if unless consequently similarly likewise"
    " additionally indeed suddenly soon once"
)
