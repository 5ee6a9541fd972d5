"""Small closed word lists of English, made for these measures. All entries are lower case with straight apostrophes."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("the a an")
POSSESSIVES = _words("my your his its our their")
PREPOSITIONS = _words(
    "about above across after against along among around as at before behind below beneath beside between beyond by"
    " despite down during except for from in inside into like near of off on onto out outside over past per since"
    " through throughout till to toward towards under underneath until up upon via with within without"
)
CONJUNCTIONS = _words("and or but nor so yet because although though while whereas if unless that than whether")
AUXILIARIES = _words(
    "am is are was were be been being has have had having do does did doing will would shall should can could may"
    " might must isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't won't wouldn't shan't"
    " shouldn't can't cannot couldn't mustn't ain't"
)
FIRST_PERSON = _words("i me my mine myself we us our ours ourselves i'm i've i'll i'd we're we've we'll we'd")
SECOND_PERSON = _words("you your yours yourself yourselves you're you've you'll you'd")
THIRD_PERSON = _words(
    "he him his himself she her hers herself it its itself they them their theirs themselves he's she's it's they're"
    " he'd she'd they'd he'll she'll it'll they'll they've"
)
DEMONSTRATIVES = _words("this that these those such that's")
PRONOUNS = FIRST_PERSON | SECOND_PERSON | THIRD_PERSON
QUESTION_WORDS = _words("who whom whose which what when where why how what's who's where's how's")
FUNCTION_WORDS = (
    ARTICLES
    | PREPOSITIONS
    | CONJUNCTIONS
    | AUXILIARIES
    | PRONOUNS
    | DEMONSTRATIVES
    | QUESTION_WORDS
    | _words(
        "not no all any both each either every few less many more most much neither none one other others own same"
        " several some there there's here just only very too also then now again ever never always even still"
        " already almost quite rather really well oh yes yeah"
    )
)

CONNECTIVES = _words(
    "and but so because although though however therefore thus hence moreover furthermore meanwhile instead"
    " otherwise nevertheless nonetheless besides then afterwards afterward finally eventually first second next"
    " later also still yet while whereas since when after before until if unless consequently similarly likewise"
    " additionally indeed suddenly soon once"
)

EMOTION_WORDS = _words(
    "afraid alone amazed amazing amused anger angry anguish annoyed anxious ashamed awe awful beautiful beloved"
    " betrayed bitter bored bright broken calm care cared cares caring cheer cheerful comfort comforted cried cries"
    " cruel cry crying dark dead death delight delighted despair desperate devastated die died disappointed disgust"
    " dread dream dying eager embarrassed enjoy enjoyed envy excited excitement exciting fear feared fearful feel"
    " feeling feelings feels felt fond forgive forgiven free friend friendly friends frightened frustrated fun funny"
    " furious gentle glad gloomy good grateful great grief grin grinned guilt guilty happily happiness happy hate"
    " hated hatred heart heartbroken hope hoped hopeful hopeless hoping horrible horrified horror hug hugged hurt"
    " hurts innocent jealous joke joy joyful kind kindness kiss kissed laugh laughed laughing laughter loneliness"
    " lonely lose loss lost love loved lovely lover loves loving mad memories memory mercy miserable misery miss"
    " missed mourn nervous nice nightmare pain painful panic panicked passion peace peaceful pity pleasant pleased"
    " pleasure pride proud rage regret relief relieved sad sadly sadness scare scared scary scream screamed screaming"
    " shame shocked shy smile smiled smiles smiling sob sobbed sobbing sorrow sorry strange stunned suffer suffered"
    " suffering surprise surprised sweet sympathy tear tears tender terrible terrified terror thankful thrilled"
    " trust ugly unhappy upset warm warmth weep weeping wept whisper whispered wish wonderful worried worry yell"
    " yelled"
)

IRREGULAR_PAST = _words(
    "was were had did said went came saw took got made knew thought told became left felt found gave held kept began"
    " brought stood ran sat heard met spoke lost led grew fell sent built understood drew broke spent rose drove"
    " bought wore chose slept woke caught taught fought sought won wrote ate drank sang swam threw flew hid shook"
    " struck swore tore froze forgot blew stole sank stuck hung dug bent crept leapt shot slid spun swept swung wept"
    " would could"
)
PRESENT_VERBS = _words(
    "is are am has have do does says say goes go comes come sees see takes take gets get makes make knows know"
    " thinks think tells tell becomes become leaves leave feels feel finds find gives give holds hold keeps keep"
    " begins begin stands stand runs run sits sit hears hear meets meet will can i'm it's he's she's they're we're"
    " you're don't doesn't isn't aren't wants want needs need looks look"
)

STOCK_REPLIES = (
    "i don't know",
    "i do not know",
    "don't know much",
    "not sure",
    "no idea",
    "i guess",
    "i think so",
    "i agree",
    "i see",
    "me too",
    "me neither",
    "that's true",
    "that is true",
    "that's right",
    "that's interesting",
    "that is interesting",
    "that's cool",
    "that is cool",
    "that's great",
    "that is great",
    "that's good",
    "that is good",
    "that's funny",
    "that is funny",
    "that's crazy",
    "that is crazy",
    "that's a good point",
    "sounds good",
    "sounds great",
    "you are right",
    "you're right",
    "of course",
    "thank you",
    "have a great day",
    "have a good day",
    "nice talking to you",
    "nice chatting with you",
)
