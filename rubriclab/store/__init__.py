"""Rubrics as immutable versions, and cached answers of judges, in one database.

A digest is `sha256:` and the 64 hexadecimal digits of the SHA-256 hash of the content's canonical JSON. Equal content
has an equal digest on every machine.

- A *rubric* is stored once, under the digest of its content, however many versions share it.
- A *version* is a name and a number (`news-coherence@3`) that point to a rubric, to its provenance (with its own
  digest), to the calls, cost and time of learning, and to a parent version. A name's versions are numbered from 1
  without gaps, except that an imported version keeps its number. A record digest covers all of this and the parent's
  record digest, as a git commit does. Saving a rubric that equals the newest of its name makes no version.
- An *origin* is part of the record: it says whether a version was learned in this store or imported. The judge and
  servers that an imported version names are not used before the user confirms it (a *confirmation*; revocable).
- A *tag* points to one version of a name. Tags move; versions never change, and the database itself
  refuses to change or delete one (by triggers, on SQLite and PostgreSQL; other databases lack these).
- An *answer* is a judge's reply, stored under the digest of the request, with a digest of reply and request together.
- A *pack* is a version as a file for review and for sharing, with its digests.

`Store.verify` checks every digest. Only this package contains SQL.
"""
