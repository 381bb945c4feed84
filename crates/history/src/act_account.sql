-- The account of vast.ai's that had listed the rental before the deed, by the operator's name and by vast.ai's number: it alone can
-- show that the rental is gone. Unknown for deeds of before.
ALTER TABLE act ADD COLUMN account TEXT;
ALTER TABLE act ADD COLUMN account_number INTEGER;
