"""Small closed word lists of English, made for these measures. All entries are lower case with straight apostrophes."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


ARTICLES = word_set("the a an")
POSSESSIVES = word_set("my your his its our their")
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
FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves i'm i've i'll i'd we're we've we'll we'd")
SECOND_PERSON = word_set("you your yours yourself yourselves you're you've you'll you'd")
THIRD_PERSON = word_set(
    "he him his himself she her hers herself it its itself they them their theirs themselves he's she's it's they're"
    " he'd she'd they'd he'll she'll it'll they'll they've"
)
DEMONSTRATIVES = word_set("this that these those such that's")
PRONOUNS = FIRST_PERSON | SECOND_PERSON | THIRD_PERSON
QUESTION_WORDS = word_set("who whom whose which what when where why how what's who's where's how's")
FUNCTION_WORDS = (
    ARTICLES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | PRONOUNS
    | DEMONSTRATIVES
    | QUESTION_WORDS
    | word_set(
        "not no all any both each either every few less many more most much neither none one other others own same"
        " several some there there's here just only very too also then now again ever never always even still"
        " already almost quite rather really well oh yes yeah"
    )
)

CONNECTIVES = word_set(
    "and but so because although though however therefore thus hence moreover furthermore meanwhile instead"
    " otherwise nevertheless nonetheless besides then afterwards afterward finally eventually first second next"
    " later also still yet while whereas since when after before until if unless consequently similarly likewise"
    " additionally indeed suddenly soon once"
)

# Phrases of a reply that fit almost anywhere, as regular expressions.
STOCK_REPLIES = (
    r"i (?:don't|do not) know|don't know much|not sure|no idea|i guess|i think so|i agree|i see|me (?:too|neither)",
    r"(?:that's|that is|sounds) (?:true|right|interesting|cool|great|good|funny|crazy|a good point)",
    r"you(?:'re| are) right|of course|thank you|have a (?:great|good) day|nice (?:talking to|chatting with) you",
)

# Words that name a fault of a text, by part of speech: a question about one is better answered by no.
FAULT_NOUNS = word_set(
    "ambiguity bias cliche contradiction defect digression discrepancy error exaggeration fabrication fault filler flaw"
    " fragment gap gibberish hallucination inaccuracy incoherence inconsistency irrelevance jargon misspelling mistake"
    " nonsense omission padding platitude redundancy repetition slip stereotype typo"
)
FAULT_ADJECTIVES = word_set(
    "abrupt absent ambiguous awkward biased boring broken choppy confused confusing contradictory distorted dull"
    " exaggerated fabricated false faulty flawed forced fragmented garbled generic illegible illogical implausible"
    " inaccurate inappropriate incoherent incomplete incomprehensible inconsistent incorrect insincere invented"
    " irrelevant lacking made-up misleading misplaced misquoted misrepresented missing misspelled misspelt mistaken"
    " monotonous muddled nonsensical off-topic offensive omitted one-sided pointless redundant repetitive rude stilted"
    " superfluous tedious unbelievable unclear undefined unexplained unfinished ungrammatical unintelligible unnatural"
    " unnecessary unneeded unreadable unrelated unsupported untrue vague verbose wordy wrong"
)
FAULT_VERBS = word_set(
    "abuse bore clutter conflate confuse contradict deviate digress distort drift duplicate exaggerate fabricate"
    " falsify hallucinate insult invent meander misinterpret mislead misquote misrepresent misspell misstate"
    " misunderstand misuse neglect obscure offend omit overlook oversimplify overstate plagiarise plagiarize ramble"
    " repeat stray violate wander"
)
NEGATIONS = word_set(
    "no not never none nothing nobody neither nor without hardly avoid avoids avoided avoiding free fail fails failed"
    " lack lacks lacking cannot instead rather"
)
