// Node HTTP + SQLite: one process, prepared statements, one transaction a transfer. WAL with
// synchronous NORMAL: a commit is written, not synced, so the last ones may go with the power.
import Database from 'better-sqlite3';
import { serve } from './transfer-server.mjs';

const [file, accounts, balance] = process.argv.slice(2);
const db = new Database(file);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = NORMAL');
db.pragma('cache_size = -262144');
db.exec('CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)');
const add = db.prepare('INSERT INTO account (id, balance) VALUES (?, ?)');
db.transaction(() => {
  for (let id = 0; id < Number(accounts); id += 1) add.run(id, Number(balance));
})();

const find = db.prepare('SELECT balance FROM account WHERE id = ?').pluck();
const set = db.prepare('UPDATE account SET balance = ? WHERE id = ?');
const total = db.prepare('SELECT sum(balance) FROM account').pluck();
const transfer = db.transaction((from, to, amount) => {
  const payer = find.get(from);
  const payee = find.get(to);
  if (payer === undefined || payee === undefined) throw new Error('no such account');
  if (payer < amount) throw new Error('not enough');
  set.run(payer - amount, from);
  set.run(payee + amount, to);
});

serve({
  transfer: (from, to, amount) => transfer.immediate(from, to, amount),
  total: () => total.get(),
});
