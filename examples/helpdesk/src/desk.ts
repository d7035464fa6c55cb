import { CallError, ScheduleAt, Timestamp, t } from 'reducerdb/server';
import { type Author, type Ctx, type Status, support, type Ticket } from './schema.ts';

// What happens to tickets, be it by a reducer, a schedule, or a webhook.

/** Why a call is refused. Callers get the value, typed. */
export const Refusal = t.enum('Refusal', {
  /** There is no such ticket, or the caller does not see it. */
  NoTicket: t.u64(),
  AgentsOnly: t.unit(),
  /** By the agent of this name. */
  Taken: t.string(),
  /** A text is empty or too long. */
  BadText: t.string(),
});

export function newTicket(ctx: Ctx, what: Pick<Ticket, 'customer' | 'from' | 'subject'>): Ticket {
  return ctx.db.ticket.insert({
    id: 0n, // 0 asks for the next number
    team: support,
    ...what,
    status: { tag: 'Open' },
    since: ctx.timestamp,
  });
}

interface Line {
  readonly author: Author;
  readonly name: string;
  readonly text: string;
  readonly internal?: boolean;
}

/** Adds a message, and gives the ticket the status that follows from it. */
export function say(ctx: Ctx, ticket: Ticket, { internal = false, ...line }: Line): void {
  const { id, team, customer } = ticket;
  const sent = ctx.timestamp;
  ctx.db.message.insert({ id: 0n, ticket: id, team, customer, internal, sent, ...line });
  if (internal) return;
  if (line.author.tag === 'Customer') move(ctx, ticket, { tag: 'Open' });
  else if (line.author.tag === 'Agent') move(ctx, ticket, { tag: 'Answered' });
}

export function close(ctx: Ctx, ticket: Ticket, why: string): void {
  say(ctx, ticket, { author: { tag: 'Helpdesk' }, name: 'Helpdesk', text: why });
  move(ctx, ticket, { tag: 'Closed' });
}

const threeDays = 3 * 24 * 60 * 60;

/** Each move starts the time again after which an answered ticket closes. */
function move(ctx: Ctx, ticket: Ticket, status: Status): void {
  ctx.db.closing.ticket.delete(ticket.id);
  let closesAt: Timestamp | undefined;
  if (status.tag === 'Answered') {
    const micros = BigInt(ctx.env.CLOSE_AFTER_SECONDS ?? threeDays) * 1_000_000n;
    closesAt = new Timestamp(ctx.timestamp.microsSinceUnixEpoch + micros);
    const at = ScheduleAt.time(closesAt.microsSinceUnixEpoch);
    ctx.db.closing.insert({ id: 0n, at, ticket: ticket.id });
  }
  const since = status.tag === ticket.status.tag ? ticket.since : ctx.timestamp;
  ctx.db.ticket.id.update({ ...ticket, status, since, closesAt });
}

/** A ticket that the caller sees. Those of others are as if they were not there. */
export function visibleTicket(ctx: Ctx, id: bigint): Ticket {
  const ticket = ctx.db.ticket.id.find(id);
  const isVisible = ticket?.customer.equals(ctx.sender) || isAgent(ctx);
  if (!ticket || !isVisible) throw new CallError({ tag: 'NoTicket', value: id });
  return ticket;
}

export function requireAgent(ctx: Ctx): void {
  if (!isAgent(ctx)) throw new CallError({ tag: 'AgentsOnly' });
}

function isAgent(ctx: Ctx): boolean {
  return ctx.db.agent.identity.find(ctx.sender) !== null;
}

/** The text without the blanks around it. What a caller sends is never trusted. */
export function checked(what: string, text: string, lengthMax: number): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new CallError({ tag: 'BadText', value: `The ${what} is empty.` });
  if (trimmed.length > lengthMax) {
    const value = `The ${what} has more than ${lengthMax} characters.`;
    throw new CallError({ tag: 'BadText', value });
  }
  return trimmed;
}
