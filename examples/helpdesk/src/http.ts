import { type Request, Router, SyncResponse, verifySignature } from 'reducerdb/server';
import { newTicket, say } from './desk.ts';
import db, { type Ctx, type Ticket } from './schema.ts';

// What others reach over HTTP, below `/v1/database/helpdesk/route`.

/**
 * The webhook of a repository on GitHub: an issue becomes a ticket, a comment a message in it.
 * Whatever is repeated changes nothing, and is answered like the first time.
 */
export const github = db.httpHandler((ctx, request) => {
  // Before anything else: nothing of an unsigned request is looked at.
  if (!verifySignature(request, { secret: ctx.env.WEBHOOK_SECRET, scheme: 'github' })) {
    return json(401, { error: 'not signed with the secret of this helpdesk' });
  }
  const id = request.headers.get('x-github-delivery');
  if (!id) return json(400, { error: 'the header x-github-delivery is missing' });
  if (!request.headers.get('content-type')?.startsWith('application/json')) {
    return json(415, { error: 'choose the content type application/json for the webhook' });
  }
  const event = eventOf(request);
  if (event === undefined) return json(202, { ignored: request.headers.get('x-github-event') });
  const ticket = ctx.withTx((tx) => {
    // A delivery that took too long is sent again.
    if (tx.db.delivery.id.find(id)) return tx.db.origin.key.find(event.key)?.ticket;
    tx.db.delivery.insert({ id, at: tx.timestamp });
    return take(tx, event);
  });
  return json(200, { ticket: ticket === undefined ? null : String(ticket) });
});

/** A ticket with its messages, for programs: of the caller, or for an agent. */
export const ticketJson = db.httpHandler({ auth: 'required' }, (ctx, request) => {
  const id = /^\d{1,18}$/.test(request.params.id ?? '') ? BigInt(request.params.id ?? '') : 0n;
  const found = ctx.read(({ db: tables }) => {
    const ticket = tables.ticket.id.find(id);
    const isAgent = tables.agent.identity.find(ctx.sender) !== null;
    if (!ticket || !(isAgent || ticket.customer.equals(ctx.sender))) return undefined;
    const messages = tables.message.ticket
      .filter(id)
      .filter(({ internal }) => isAgent || !internal)
      .toArray();
    return { ticket, messages };
  });
  if (found === undefined) return json(404, { error: `there is no ticket ${request.params.id}` });
  const { ticket, messages } = found;
  return json(200, {
    id: String(ticket.id),
    subject: ticket.subject,
    from: ticket.from,
    status: ticket.status.tag,
    messages: messages.map(({ author, name, text, internal, sent }) => {
      return { author: author.tag, name, text, internal, sent: sent.toISOString() };
    }),
  });
});

export const routes = db.httpRouter(
  new Router().post('/hooks/github', github).get('/tickets/:id', ticketJson),
);

/** What happened, as far as it is of interest here. */
interface Event {
  /** By which it is known again. It is part of what is signed; the id of a delivery is not. */
  readonly key: string;
  readonly issue: string;
  readonly subject: string;
  readonly from: string;
  readonly text: string;
}

/** Other fields of the two events are of no use here. */
interface Payload {
  readonly action: string;
  readonly issue: { number: number; title: string; body: string | null; user: { login: string } };
  readonly comment: { id: number; body: string; user: { login: string } };
  readonly repository: { full_name: string };
}

/** Throws where a signed body is not what GitHub documents: the sender gets 500 and tries again. */
function eventOf(request: Request): Event | undefined {
  const kind = request.headers.get('x-github-event');
  if (kind !== 'issues' && kind !== 'issue_comment') return undefined;
  const { action, issue, comment, repository } = request.json() as Payload;
  const key = `${repository.full_name}#${issue.number}`;
  const subject = `${issue.title} (${key})`;
  const what = { issue: key, subject };
  if (kind === 'issues' && action === 'opened') {
    return { ...what, key, from: issue.user.login, text: issue.body || issue.title };
  }
  if (kind === 'issue_comment' && action === 'created') {
    const { id, user, body } = comment;
    return { ...what, key: `${key} comment ${id}`, from: user.login, text: body };
  }
  return undefined;
}

/** Returns the number of the ticket that has it now, or has had it before. */
function take(ctx: Ctx, event: Event): bigint {
  const known = ctx.db.origin.key.find(event.key);
  if (known) return known.ticket;
  const ticket = ticketOf(ctx, event);
  const author = { tag: 'Customer' } as const;
  say(ctx, ticket, { author, name: event.from, text: event.text.slice(0, 10_000) });
  if (event.key !== event.issue) ctx.db.origin.insert({ key: event.key, ticket: ticket.id });
  return ticket.id;
}

/** A comment may come before its issue, or be on one from before the webhook: it opens the ticket. */
function ticketOf(ctx: Ctx, { issue, subject, from }: Event): Ticket {
  const known = ctx.db.origin.key.find(issue);
  const ticket = known && ctx.db.ticket.id.find(known.ticket);
  if (ticket) return ticket;
  // Nobody can sign in as the database, so these are the team's alone.
  const customer = ctx.databaseIdentity;
  const opened = newTicket(ctx, { customer, from, subject: subject.slice(0, 200) });
  ctx.db.origin.insert({ key: issue, ticket: opened.id });
  return opened;
}

function json(status: number, body: unknown): SyncResponse {
  const headers = { 'content-type': 'application/json' };
  return new SyncResponse(JSON.stringify(body), { status, headers });
}
