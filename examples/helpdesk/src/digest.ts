import { Range, ScheduleAt, Timestamp, t } from 'reducerdb/server';
import db, { digest, digestJob } from './schema.ts';

// Each morning the team hears elsewhere how things are. A reducer cannot reach out of its database:
// it writes down what is to be sent, and a procedure sends it.

const day = 24n * 60n * 60n * 1_000_000n;

/** Counts, and asks for the digest to be sent. Forgets deliveries that nobody repeats any more. */
export const nightly = db.cron(
  '0 6 * * *',
  { timeZone: 'Europe/Berlin', catchUp: 'once' },
  (ctx, { due }) => {
    const now = ctx.timestamp.microsSinceUnixEpoch;
    const monthAgo = new Timestamp(now - 30n * day);
    ctx.db.delivery.at.delete(new Range(undefined, { tag: 'excluded', value: monthAgo }));
    if (ctx.env.DIGEST_URL === undefined || ctx.db.digest.day.find(due)) return;
    const count = (status: 'Open' | 'Answered') =>
      ctx.db.ticket.status.filter({ tag: status }).reduce((sum) => sum + 1, 0);
    const closed = ctx.db.ticket.status
      .filter({ tag: 'Closed' })
      .filter(({ since }) => since.microsSinceUnixEpoch >= now - day);
    ctx.db.digest.insert({
      day: due,
      open: count('Open'),
      answered: count('Answered'),
      closed: closed.reduce((sum) => sum + 1, 0),
    });
    ctx.db.digestJob.insert({ id: 0n, at: ScheduleAt.time(now), day: due });
  },
);

/**
 * Sends a digest. It is repeated until it went well, over crashes, too: a digest may arrive twice,
 * so the receiver gets a key by which it knows the second one.
 */
export const sendDigest = db.procedure(
  { onSchedule: digestJob, delivery: 'atLeastOnce' },
  { job: digestJob.rowType },
  t.unit(),
  async (ctx, { job }) => {
    const { DIGEST_URL, DIGEST_KEY } = ctx.env;
    const found = ctx.read(({ db: tables }) => tables.digest.day.find(job.day));
    if (!found || DIGEST_URL === undefined) return {};
    const { open, answered, closed } = found;
    const date = job.day.toISOString().slice(0, 10);
    const text = `Helpdesk, ${date}: ${open} open, ${answered} answered, ${closed} closed.`;
    const response = await ctx.fetch(DIGEST_URL, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': `digest ${date}`,
        ...(DIGEST_KEY !== undefined && { authorization: `Bearer ${DIGEST_KEY}` }),
      },
      body: JSON.stringify({ text, date, open, answered, closed }),
    });
    if (!response.ok) throw new Error(`the digest was answered with ${response.status}`);
    ctx.withTx((tx) => {
      const row = tx.db.digest.day.find(job.day);
      if (row) tx.db.digest.day.update({ ...row, sent: tx.timestamp });
    });
    return {};
  },
);

/** What was sent, for agents. */
export const digests = db.view({ public: true }, t.array(digest.rowType), (ctx) =>
  ctx.db.agent.identity.find(ctx.sender) ? [...ctx.db.digest.iter()] : [],
);
