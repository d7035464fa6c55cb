// A helpdesk: tickets of customers, a queue for agents, and what happens without anybody there.

export { digests, nightly, sendDigest } from './digest.ts';
export { github, routes, ticketJson } from './http.ts';
export { clientConnected, clientDisconnected, joinTeam, leaveTeam, me, setName } from './people.ts';
export { default, visibility } from './schema.ts';
export {
  closeQuietTicket,
  closeTicket,
  openTicket,
  queue,
  releaseTicket,
  reply,
  takeTicket,
} from './tickets.ts';
