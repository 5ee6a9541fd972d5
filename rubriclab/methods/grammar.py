"""The words by which the rules take a question apart: small closed classes of English, and verbs.

The verbs are those that evaluation questions ask of texts, sentences, speakers and readers.
"""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text` as a set: how the rules write their lists."""
    return frozenset(text.split())


def phrases(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern that finds any of the alternatives, each a regular expression for whole words."""
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b")


AUXILIARIES = word_set("are can could did do does had has have is may might must shall should was were will would")
# After these the main verb stands in its base form, which is what makes a second one after "and" recognisable.
BASE_FORM_FOLLOWS = AUXILIARIES - word_set("is are was were has have had")
DETERMINERS = word_set(
    "a all an another any both each every few her his its many most no one other our several some such that the "
    "their these this those three two what which whose"
)
PRONOUNS = word_set("anything everything he him i it itself nothing one she something them themselves they us we")
PREPOSITIONS = word_set(
    "about across after against along among around as at before between by down during for from in into like near "
    "of off on onto out over per than through throughout to toward towards under up upon with within without"
)
OPEN_WORDS = word_set("what which who whom whose when where why how")
CONJUNCTIONS = frozenset({"and", "or", "but", "yet", "/", "&"})
RELATIVES = word_set("that which who whom whose")

ONLY_VERBS = word_set(
    "accept acknowledge adapt add adhere admit affect agree align allow allude analyse analyze apologise "
    "apologize appear apply arouse arrive ask assert assume assure attribute avert avoid await back base become "
    "begin belong betray borrow bring build carry catch choose cite clarify collect combine come communicate "
    "compare complain complete conceal concentrate condense confirm congratulate connect conserve consider "
    "consist constitute construct contain continue contradict contribute convey cope correspond create criticise "
    "dare decide dedicate deepen define deliver demonstrate deny depend depict describe deserve despise destroy "
    "detract develop devote differ disclose discover discuss dismiss distinguish divide do earn elaborate elicit "
    "eliminate embed emerge emphasise emphasize employ enable encapsulate encourage endure engage enhance enrich "
    "ensure err escalate establish evaluate evoke evolve examine exceed excite exclude exist expand expect "
    "explain explore expose extend fade feel find follow foreshadow forgive foster fulfil fulfill gather generate "
    "get give greet grow happen have hear heighten hide highlight identify illustrate imagine immerse imply "
    "impress improve include incorporate increase indicate infer insist inspire integrate interpret interrupt "
    "intrigue introduce invent invite invoke involve isolate join justify keep know learn let listen locate lose "
    "maintain make manage meet mention merge motivate obey observe occur offend omit organise organize overcome "
    "overwhelm participate pass persuade pique please portray possess predict prepare preserve prevail prevent "
    "prioritise prioritize proceed promote pronounce propose protect prove provide provoke publish punctuate "
    "pursue push put raise react read reappear reassure recall receive recognise recognize recommend recount "
    "reduce reflect refuse refute regard reject relate relieve rely remain remember remind remove render repair "
    "replace represent require resemble resist resolve respect respond restate restrict retain retell reveal "
    "revolve satisfy save say see seek seem select send separate serve settle shorten simplify sit soften solicit "
    "solve spare speak specify speculate spell spoil stimulate strengthen submit substantiate succeed suffer "
    "suggest summarise summarize surround suspend sustain take teach tell tempt tend think throw translate "
    "uncover undergo undermine understand unfold uphold utilise utilize validate vary verify violate want warn "
    "weave"
)
# Verbs that are nouns or adjectives as often: "and" before one of them may just as well go on with a list.
OTHER_VERBS = word_set(
    "address aim amount answer appeal attempt balance bear beat blame blend break call care cast cause challenge "
    "change check choice claim close comment commit compliment conclude contact contrast copy correct count cover "
    "credit cut deal debate decline defence defend demand design desire detail direct display dispute doubt draw "
    "drive drop end escape estimate exploit express face fall favor favour feature fill fit fix flow focus form "
    "forward frame free function gain guarantee guess guide hand handle help hint hold hook hurt inform interest "
    "issue judge kill label lack land last laugh lay lead leave lift limit link list look lot love lower lure "
    "mark mask master match matter mean merit mind mirror miss mistake mix move name need note notice object "
    "offer open order outline own paint pay permit phrase pick place plan play point praise present print process "
    "produce progress project promise prompt question quote rank rate reach reason rebut record reference reply "
    "report request rest result return reward rhyme rise rule run sacrifice salute score sense set shape share "
    "shift show sign signal skip sort sound spark spend split spread stand start state stay step stick stir stop "
    "store stress strike structure struggle study subject suit sum supply support surprise switch talk target "
    "test thank thought threaten tie time title touch trace track transition transport travel treat trust try "
    "turn update urge use value view visit voice vote wait wake walk watch welcome win wish witness wonder word "
    "work worry wrap write yield"
)
VERBS = ONLY_VERBS | OTHER_VERBS
