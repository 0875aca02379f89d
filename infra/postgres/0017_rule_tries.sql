-- When the newest attempt of a message ended: its outcome is the newest of the webhook, however late the next attempt is due.
alter table rule_deliveries add column tried_at timestamptz;
update rule_deliveries set tried_at = ended_at where ended_at is not null;
