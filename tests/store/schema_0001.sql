-- Frozen: a store as the first schema had it. Never regenerate after a release.
BEGIN TRANSACTION;
CREATE TABLE answers (
	digest VARCHAR(71) NOT NULL, 
	reply TEXT NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_answers PRIMARY KEY (digest)
);
INSERT INTO "answers" VALUES('sha256:asked','{"text":"paid for"}','2026-11-21T22:48:28.506398+00:00');
CREATE TABLE rubriclab_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT rubriclab_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "rubriclab_schema" VALUES('0001');
CREATE TABLE rubrics (
	digest VARCHAR(71) NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_rubrics PRIMARY KEY (digest)
);
INSERT INTO "rubrics" VALUES('sha256:956f200d990a1ab4072fe4dd173b4555f7e3f9a697f290a54e7f8df098b4eb2f','{"aspect":{"definition":"How well the sentences hang together.","name":"coherence"},"format":1,"parts":[{"criteria":[{"evidence":{"examples":["a"],"findings":[],"judged":0,"missing":0,"origin":"labels","pearson":null,"refined":0,"rewards":[]},"id":"c1","kind":"hypothesis","levels":[{"description":"Sentences stand apart.","score":1.0},{"description":"They are linked.","score":5.0}],"statement":"The text is better by 1.","trait":"links","weight":1.0}],"dropped":[],"method":"hypoeval","settings":{"alpha":0.5,"k":10}}],"scale":{"high":5.0,"low":1.0,"whole":true},"task":"summarization"}');
INSERT INTO "rubrics" VALUES('sha256:005771e9f4621b29745274a3d276ec9ba7965a2f41c90ee660bcce50aab1e31b','{"aspect":{"definition":"How well the sentences hang together.","name":"coherence"},"format":1,"parts":[{"criteria":[{"evidence":{"examples":["a"],"findings":[],"judged":0,"missing":0,"origin":"labels","pearson":null,"refined":0,"rewards":[]},"id":"c1","kind":"hypothesis","levels":[{"description":"Sentences stand apart.","score":1.0},{"description":"They are linked.","score":5.0}],"statement":"The text is better by 2.","trait":"links","weight":1.0}],"dropped":[],"method":"hypoeval","settings":{"alpha":0.5,"k":10}}],"scale":{"high":5.0,"low":1.0,"whole":true},"task":"summarization"}');
CREATE TABLE tags (
	name VARCHAR(100) NOT NULL, 
	tag VARCHAR(100) NOT NULL, 
	number INTEGER NOT NULL, 
	CONSTRAINT pk_tags PRIMARY KEY (name, tag), 
	CONSTRAINT fk_tags_name_number_versions FOREIGN KEY(name, number) REFERENCES versions (name, number)
);
INSERT INTO "tags" VALUES('old','best',2);
CREATE TABLE versions (
	name VARCHAR(100) NOT NULL, 
	number INTEGER NOT NULL, 
	rubric_digest VARCHAR(71) NOT NULL, 
	provenance TEXT NOT NULL, 
	provenance_digest VARCHAR(71) NOT NULL, 
	effort TEXT NOT NULL, 
	parent_name VARCHAR(100), 
	parent_number INTEGER, 
	created VARCHAR(32) NOT NULL, 
	record_digest VARCHAR(71) NOT NULL, 
	CONSTRAINT pk_versions PRIMARY KEY (name, number), 
	CONSTRAINT fk_versions_rubric_digest_rubrics FOREIGN KEY(rubric_digest) REFERENCES rubrics (digest), 
	CONSTRAINT fk_versions_parent_name_parent_number_versions FOREIGN KEY(parent_name, parent_number) REFERENCES versions (name, number), 
	CONSTRAINT ck_versions_number_from_one CHECK (number >= 1)
);
INSERT INTO "versions" VALUES('old',1,'sha256:956f200d990a1ab4072fe4dd173b4555f7e3f9a697f290a54e7f8df098b4eb2f','{"agreement":{"kendall":{"high":0.7,"low":0.1,"value":0.4},"level":"dataset","n":30,"optimistic":true,"pearson":{"high":0.7,"low":0.1,"value":0.4},"reselected":{"high":0.7,"low":0.1,"value":0.4},"spearman":{"high":0.7,"low":0.1,"value":0.4}},"data":"sha256:1111111111111111111111111111111111111111111111111111111111111111","examples":["a","b"],"floor":null,"generator":"embedded","groups":["g"],"judge":"embedded","prompts":"sha256:0000000000000000000000000000000000000000000000000000000000000000","seed":42,"settings":{"hypoeval":{"alpha":0.5,"k":10}},"snapshots":[],"version":"0.1.0"}','sha256:081b84ec39a68ce92497e4c9b93079d081eec292265a3fe76043cf139434d59a','{"asked":12,"cached":3,"completion_tokens":80,"cost_usd":null,"failed":0,"prompt_tokens":900,"repaired":0,"seconds":1.5}',NULL,NULL,'2026-11-21T22:48:28.490354+00:00','sha256:4a89098ced043f5fe6ad0bc34a5050d7832f6ac365c23b618846e04f1a2e8b8c');
INSERT INTO "versions" VALUES('old',2,'sha256:005771e9f4621b29745274a3d276ec9ba7965a2f41c90ee660bcce50aab1e31b','{"agreement":{"kendall":{"high":0.7,"low":0.1,"value":0.4},"level":"dataset","n":30,"optimistic":true,"pearson":{"high":0.7,"low":0.1,"value":0.4},"reselected":{"high":0.7,"low":0.1,"value":0.4},"spearman":{"high":0.7,"low":0.1,"value":0.4}},"data":"sha256:1111111111111111111111111111111111111111111111111111111111111111","examples":["a","b"],"floor":null,"generator":"embedded","groups":["g"],"judge":"embedded","prompts":"sha256:0000000000000000000000000000000000000000000000000000000000000000","seed":2,"settings":{"hypoeval":{"alpha":0.5,"k":10}},"snapshots":[],"version":"0.1.0"}','sha256:6804db9bb37a5ccef4567b54d3efc1bce5bb514eec770f99fa3aa19a7b9032d6','{"asked":12,"cached":3,"completion_tokens":80,"cost_usd":null,"failed":0,"prompt_tokens":900,"repaired":0,"seconds":1.5}','old',1,'2026-11-21T22:48:28.498108+00:00','sha256:016215a29bd4f3efece422cce08e4fffccbdabb35e873498dfd8ac4731a74f29');
COMMIT;
