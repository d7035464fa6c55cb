import { type Infer, type InferSchema, type ReducerCtx, schema, t, table } from 'reducerdb/server';

// What the helpdesk keeps, who sees it, and what it is configured with.

/**
 * ```text
 * Open ── an agent answers ──▶ Answered ── nothing is said for a while ──▶ Closed
 * Answered, Closed ── the customer writes ──▶ Open
 * Open, Answered ── somebody closes it ──▶ Closed
 * ```
 */
const Status = t.enum('Status', ['Open', 'Answered', 'Closed']);

/** Who wrote a message: the customer, somebody of the team, or the helpdesk itself. */
const Author = t.enum('Author', ['Customer', 'Agent', 'Helpdesk']);

const ticket = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    /** Whose agents see all of it. */
    team: t.string().index(),
    /** Who sees it, too. The database itself, if it came from elsewhere. */
    customer: t.identity().index(),
    /** The customer's name as agents see it. */
    from: t.string(),
    subject: t.string(),
    status: Status.index(),
    /** When it got this status. */
    since: t.timestamp(),
    /** The agent who took it. */
    assignee: t.identity().optional(),
    /** When it closes by itself. */
    closesAt: t.timestamp().optional(),
  },
);

const message = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    ticket: t.u64().index(),
    /** As the ticket has them: who may see a message is decided without looking for its ticket. */
    team: t.string().index(),
    customer: t.identity().index(),
    author: Author,
    name: t.string(),
    text: t.string(),
    /** Internal notes are for the team alone. */
    internal: t.bool(),
    sent: t.timestamp(),
  },
);

/** Who answers. Anyone can see who helps them, and whether they are there. */
const agent = table(
  { public: true },
  {
    identity: t.identity().primaryKey(),
    team: t.string().index(),
    name: t.string(),
    online: t.bool(),
  },
);

// The rest is private: clients do not see these tables.

/** One row for each night: what the digest says, and when it was delivered. */
const digest = table(
  {},
  {
    day: t.timestamp().primaryKey(),
    open: t.u32(),
    answered: t.u32(),
    closed: t.u32(),
    sent: t.timestamp().optional(),
  },
);

/** Names of people who are not in the team. */
const customer = table({}, { identity: t.identity().primaryKey(), name: t.string() });

/** Who is connected. One person may be here twice. */
const connection = table({}, { id: t.connectionId().primaryKey(), identity: t.identity().index() });

/** Tickets that close at a time. */
const closing = table(
  {},
  { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), ticket: t.u64().unique() },
);

/** Digests that are to be sent. */
const digestJob = table(
  {},
  { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), day: t.timestamp() },
);

/** Deliveries of webhooks that have arrived, by the id that their sender gave them. */
const delivery = table({}, { id: t.string().primaryKey(), at: t.timestamp().index() });

/** Issues and comments of elsewhere, and the tickets that they are part of here. */
const origin = table({}, { key: t.string().primaryKey(), ticket: t.u64() });

const db = schema(
  { ticket, message, agent, digest, customer, connection, closing, digestJob, delivery, origin },
  {
    env: {
      /** How long nothing has to be said after an answer; three days, if it is not set. */
      CLOSE_AFTER_SECONDS: t.u32().optional(),
      /** Makes an agent of a caller who knows it. */
      TEAM_CODE: t.secret(),
      /** What incoming webhooks are signed with. */
      WEBHOOK_SECRET: t.secret(),
      /** Where the nightly digest goes; nowhere, if it is not set. */
      DIGEST_URL: t.string().optional(),
      DIGEST_KEY: t.secret().optional(),
    },
  },
);

// Customers see their own tickets without the notes of the team; agents see those of their team.
// Filters that join can be watched because the join goes through an index, `team`.
const { clientVisibilityFilter: visible } = db;
const ofTheirTeam = 'agent.team WHERE agent.identity = :sender';
export const visibility = db.exportGroup({
  ownTickets: visible.sql('SELECT * FROM ticket WHERE customer = :sender'),
  ownMessages: visible.sql('SELECT * FROM message WHERE customer = :sender AND internal = FALSE'),
  teamTickets: visible.sql(
    `SELECT ticket.* FROM ticket JOIN agent ON ticket.team = ${ofTheirTeam}`,
  ),
  teamMessages: visible.sql(
    `SELECT message.* FROM message JOIN agent ON message.team = ${ofTheirTeam}`,
  ),
});

/** There is one team. With several, a ticket would say whom it is for. */
export const support = 'support';

export { closing, digest, digestJob };
export default db;

export type Ctx = ReducerCtx<InferSchema<typeof db>>;
export type Ticket = Infer<typeof ticket.rowType>;
export type Status = Infer<typeof Status>;
export type Author = Infer<typeof Author>;
