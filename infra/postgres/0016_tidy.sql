-- Indexes that find expired rows without reading the rest (`api/accounts/tidy.ts`).
create index sign_in_tries_last on sign_in_tries (last_at);
create index mail_outbox_made on mail_outbox (made_at);
create index recovery_codes_mailed on recovery_codes (expires_at) where kind = 'mailed';
