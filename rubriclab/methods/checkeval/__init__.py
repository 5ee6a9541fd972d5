"""CheckEval: an aspect as a checklist of yes/no questions; a text's score is the share of good answers."""
