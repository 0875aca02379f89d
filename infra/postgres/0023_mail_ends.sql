-- Until when a letter is of use: one with a code as long as its code (D-1095).
alter table mail_outbox add column ends_at timestamptz not null default now() + interval '1 day';
update mail_outbox set ends_at = made_at + interval '1 day' where sent_at is null;
