"""What a data set writes for "there is none" is no source, context or reference; an output is never taken for that."""




PLACEHOLDERS = ["_nofact", "N/A", "none", "None", "null", "[none]", " n/a. ", "<null>", "NaN", "-", "(not available)"]
TEXTS = [
    "None of the dams held.",
    "Null Island lies in the Gulf of Guinea.",
    "n/a: see below",
    "No.",
    "0",
    "Nan baked bread.",
]
