"""SEAL: a text is decomposed into units, each verified by yes/no questions; the answers give the text's score."""
