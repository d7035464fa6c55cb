import type { DatabaseReply, TurnReport } from '../../database/turn.ts';
import type { Outbox } from '../feeds/outbox.ts';
import type { PromisedRequest } from '../feeds/pending-requests.ts';
import { lostReply } from './end-refusals.ts';
import { expiredRefusal } from './engine-outage.ts';
import type { Vitals } from './vitals.ts';

/** Keeps a reply until what it rests on is durable. */
export function holdReply(
  pending: PromisedRequest,
  reply: DatabaseReply,
  { write, offset }: Pick<TurnReport, 'write' | 'offset'>,
  { outbox, vitals }: { readonly outbox: Outbox; readonly vitals: Vitals },
): void {
  const slot = vitals.answered(pending, reply);
  const release = () => {
    vitals.left(slot, pending.acceptedAt);
    pending.resolve(reply);
  };
  const fail = () => {
    const lost = lostReply();
    vitals.refused(lost.body.code);
    pending.reject(lost);
  };
  const { acceptedAt } = pending;
  const expire = () => pending.reject(expiredRefusal(pending.request));
  outbox.hold({ write, offset, release, fail, acceptedAt, expire });
}
