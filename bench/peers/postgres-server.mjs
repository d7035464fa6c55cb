// Node HTTP + PostgreSQL: one process with a pool of connections over a local socket, the transfer
// as a stored function, called by a prepared statement: one round trip and one transaction. Every
// commit is synced before it is answered (synchronous_commit on); commits of several connections
// share a sync where they meet.
import pg from 'pg';
import { serve } from './transfer-server.mjs';

const [host, connections, accounts, balance] = process.argv.slice(2);
const pool = new pg.Pool({
  host,
  user: 'postgres',
  database: 'postgres',
  max: Number(connections),
});

await pool.query('CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL)');
await pool.query(
  'INSERT INTO account SELECT id, $2::bigint FROM generate_series(0, $1::integer - 1) id',
  [Number(accounts), Number(balance)],
);
await pool.query('VACUUM ANALYZE account');
// Rows are locked by ascending id, so that two transfers never wait for each other in a circle.
await pool.query(`
  CREATE FUNCTION transfer(payer integer, payee integer, amount bigint) RETURNS void AS $$
  DECLARE first bigint; second bigint; payer_balance bigint; payee_balance bigint;
  BEGIN
    SELECT balance INTO first FROM account WHERE id = least(payer, payee) FOR UPDATE;
    SELECT balance INTO second FROM account WHERE id = greatest(payer, payee) FOR UPDATE;
    IF first IS NULL OR second IS NULL THEN RAISE 'no such account'; END IF;
    IF payer < payee THEN payer_balance := first; payee_balance := second;
    ELSE payer_balance := second; payee_balance := first; END IF;
    IF payer_balance < amount THEN RAISE 'not enough'; END IF;
    UPDATE account SET balance = payer_balance - amount WHERE id = payer;
    UPDATE account SET balance = payee_balance + amount WHERE id = payee;
  END $$ LANGUAGE plpgsql`);

const text = 'SELECT transfer($1, $2, $3)';
serve({
  transfer: (from, to, amount) =>
    pool.query({ name: 'transfer', text, values: [from, to, amount] }),
  total: async () => (await pool.query('SELECT sum(balance) AS total FROM account')).rows[0].total,
});
