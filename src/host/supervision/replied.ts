import { assert } from '../../assert.ts';
import type { DatabaseReply } from '../../database/turn.ts';

/** The answer to a request of this kind; asserts that it is one. */
export function replied<Kind extends DatabaseReply['kind']>(
  kind: Kind,
  reply: DatabaseReply,
): Extract<DatabaseReply, { readonly kind: Kind }> {
  assert(reply.kind === kind, `${kind} was expected, and ${reply.kind} came`);
  return reply as Extract<DatabaseReply, { readonly kind: Kind }>;
}
