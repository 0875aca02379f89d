-- `rule_deliveries_waiting` has taken its place. In a file of its own: the one before reads the whole table, and processes that are served meanwhile
-- would have to be kept from it altogether, or end in a deadlock with the drop.
drop index if exists rule_deliveries_due;
