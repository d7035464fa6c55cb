import { SenderError, t } from 'reducerdb/server';
import { checked, Refusal } from './desk.ts';
import db, { type Ctx, support } from './schema.ts';

// Who people are: their names, the team, and who is there.

export const clientConnected = db.clientConnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.connection.insert({ id: ctx.connectionId, identity: ctx.sender });
  showPresence(ctx);
});

export const clientDisconnected = db.clientDisconnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.connection.id.delete(ctx.connectionId);
  showPresence(ctx);
});

/** Gives the caller a name. Messages that were sent before keep the old one. */
export const setName = db.reducer({ throws: Refusal }, { name: t.string() }, (ctx, args) => {
  const name = checked('name', args.name, 60);
  const { agent, customer } = ctx.db;
  const me = agent.identity.find(ctx.sender);
  if (me) agent.identity.update({ ...me, name });
  else if (customer.identity.find(ctx.sender))
    customer.identity.update({ identity: ctx.sender, name });
  else customer.insert({ identity: ctx.sender, name });
});

/**
 * Makes an agent of a caller who knows the code of the team. A procedure, because reducers do not
 * see secrets. Returns whether the code was right.
 */
export const joinTeam = db.procedure({ code: t.string() }, t.bool(), (ctx, { code }) => {
  if (!isSame(code, ctx.env.TEAM_CODE)) return false;
  ctx.withTx((tx) => {
    if (tx.db.agent.identity.find(tx.sender)) return;
    tx.db.agent.insert({
      identity: tx.sender,
      team: support,
      name: nameOf(tx),
      online: isConnected(tx),
    });
    tx.db.customer.identity.delete(tx.sender);
  });
  return true;
});

/** Back to being a customer. */
export const leaveTeam = db.reducer((ctx) => {
  const me = ctx.db.agent.identity.find(ctx.sender);
  if (!me) throw new SenderError('You are not in the team.');
  ctx.db.agent.identity.delete(ctx.sender);
  ctx.db.customer.insert({ identity: ctx.sender, name: me.name });
});

const Profile = t.row('Profile', {
  identity: t.identity().primaryKey(),
  name: t.string(),
  isAgent: t.bool(),
});

/** The caller. */
export const me = db.view({ public: true }, t.option(Profile), (ctx) => {
  const { agent, customer } = ctx.db;
  const member = agent.identity.find(ctx.sender);
  const name = (member ?? customer.identity.find(ctx.sender))?.name ?? '';
  return { identity: ctx.sender, name, isAgent: member !== null };
});

/** The name of the caller, or what stands for one. */
export function nameOf(ctx: Ctx): string {
  const { agent, customer } = ctx.db;
  const known = agent.identity.find(ctx.sender) ?? customer.identity.find(ctx.sender);
  // The first digits of an identity say what kind it is; these tell people apart.
  return known?.name ?? `Guest ${ctx.sender.toHexString().slice(12, 16)}`;
}

function showPresence(ctx: Ctx): void {
  const member = ctx.db.agent.identity.find(ctx.sender);
  if (member) ctx.db.agent.identity.update({ ...member, online: isConnected(ctx) });
}

function isConnected(ctx: Ctx): boolean {
  return ctx.db.connection.identity.filter(ctx.sender).some(() => true);
}

/** Takes the same time wherever the first difference is, so that nobody guesses letter by letter. */
function isSame(given: string, secret: string): boolean {
  let difference = given.length ^ secret.length;
  for (let at = 0; at < given.length; at++) {
    difference |= given.charCodeAt(at) ^ secret.charCodeAt(at % secret.length);
  }
  return difference === 0;
}
