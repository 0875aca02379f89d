-- What a message of a webhook is looked up by. A move that is dropped, and a rule that is deleted with its moves, takes its messages along; without
-- this index each single move meant reading all messages.
create index rule_deliveries_transition on rule_deliveries (transition_id);

-- The oldest waiting message of each webhook is found without reading those behind it: a day of moves of one that fails, or a month of one that is disabled.
create index rule_deliveries_waiting on rule_deliveries (webhook_id, next_at, delivery_id) where state = 'waiting';
