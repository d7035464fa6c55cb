import { CallError, t } from 'reducerdb/server';
import { checked, close, newTicket, Refusal, requireAgent, say, visibleTicket } from './desk.ts';
import { nameOf } from './people.ts';
import db, { type Author, closing } from './schema.ts';

// What callers do with tickets. Clients call these reducers as `open_ticket`, `reply` …

/** Opens a ticket of the caller. Returns its number. */
export const openTicket = db.reducer(
  { returns: t.u64(), throws: Refusal },
  { subject: t.string(), text: t.string() },
  (ctx, args) => {
    const subject = checked('subject', args.subject, 120);
    const text = checked('message', args.text, 10_000);
    const from = nameOf(ctx);
    const ticket = newTicket(ctx, { customer: ctx.sender, from, subject });
    say(ctx, ticket, { author: { tag: 'Customer' }, name: from, text });
    return ticket.id;
  },
);

/**
 * Adds a message to a ticket.
 *
 * @param internal - a note that only the team sees
 */
export const reply = db.reducer(
  { throws: Refusal },
  { ticket: t.u64(), text: t.string(), internal: t.bool() },
  (ctx, { ticket: id, internal, ...args }) => {
    const ticket = visibleTicket(ctx, id);
    const text = checked('message', args.text, 10_000);
    if (internal) requireAgent(ctx);
    const isCustomer = ticket.customer.equals(ctx.sender) && !internal;
    const author: Author = { tag: isCustomer ? 'Customer' : 'Agent' };
    say(ctx, ticket, { author, name: nameOf(ctx), text, internal });
  },
);

/** Makes the caller responsible for a ticket, unless another agent is. */
export const takeTicket = db.reducer({ throws: Refusal }, { ticket: t.u64() }, (ctx, args) => {
  requireAgent(ctx);
  const ticket = visibleTicket(ctx, args.ticket);
  const { assignee } = ticket;
  if (assignee && !assignee.equals(ctx.sender)) {
    const name = ctx.db.agent.identity.find(assignee)?.name ?? 'somebody';
    throw new CallError({ tag: 'Taken', value: name });
  }
  ctx.db.ticket.id.update({ ...ticket, assignee: ctx.sender });
});

/** Gives a ticket back to the queue. */
export const releaseTicket = db.reducer({ throws: Refusal }, { ticket: t.u64() }, (ctx, args) => {
  requireAgent(ctx);
  const ticket = visibleTicket(ctx, args.ticket);
  ctx.db.ticket.id.update({ ...ticket, assignee: undefined });
});

export const closeTicket = db.reducer({ throws: Refusal }, { ticket: t.u64() }, (ctx, args) => {
  const ticket = visibleTicket(ctx, args.ticket);
  if (ticket.status.tag === 'Closed') return;
  close(ctx, ticket, `${nameOf(ctx)} closed this ticket.`);
});

/** Runs a while after the last answer: rows of `closing` say when, for which ticket. */
export const closeQuietTicket = db.reducer(
  { onSchedule: closing },
  { row: closing.rowType },
  (ctx, { row }) => {
    const ticket = ctx.db.ticket.id.find(row.ticket);
    if (ticket) close(ctx, ticket, 'Closed, as there was no further question.');
  },
);

const Waiting = t.row('Waiting', {
  ticket: t.u64().primaryKey(),
  subject: t.string(),
  from: t.string(),
  since: t.timestamp(),
  assignee: t.string().optional(),
});

/** The tickets that wait for an answer, for agents; nothing for anybody else. */
export const queue = db.view({ public: true }, t.array(Waiting), (ctx) => {
  const agents = ctx.db.agent.identity;
  if (!agents.find(ctx.sender)) return [];
  return ctx.db.ticket.status
    .filter({ tag: 'Open' })
    .map(({ id: ticket, subject, from, since, assignee }) => {
      return { ticket, subject, from, since, assignee: assignee && agents.find(assignee)?.name };
    })
    .toArray();
});
