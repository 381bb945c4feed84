-- The rule that did it, where one did. Until now its name stood at the beginning of why, before a colon: names have none.
ALTER TABLE act ADD COLUMN rule TEXT;
UPDATE act SET rule = substr(why, 6, instr(why, ': ') - 6) WHERE why GLOB 'rule ?*: *';
CREATE INDEX act_by_rule ON act (rule, target, id) WHERE rule IS NOT NULL;
