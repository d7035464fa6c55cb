import { querySetId } from '../database/live/set-id.ts';
import type { CommitOffset, ResumeOutcome } from '../database/outcome.ts';
import type { LiveEvent, LiveRequest } from '../host/feeds/live-connection.ts';
import { clientArms } from '../protocol/v2/client-message.ts';
import { encodeResumed, type Resume, resumeArm } from '../protocol/v2/resume.ts';
import { clientMessagesIn } from '../protocol/v3.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { EncodedMessage } from './encoded-message.ts';
import type { Encoded, MessageCodec, Person } from './message-codec.ts';
import { doneMessages, endOfDone, requestOf, V2 } from './v2.ts';
import { endOfUpdates, updateMessages } from './v2-updates.ts';

/**
 * Our own subprotocol: version 3, and each frame tells where its client is when it has applied it,
 * so that a client that comes back can say where it was.
 */
export class ResumableV3 implements MessageCodec {
  readonly keptCount = 0;
  readonly #plain: V2;
  readonly #hosts: () => readonly string[];
  /** Where the client is behind the messages so far. */
  #offset = 0;

  /** `hosts`: the addresses of the hosts of a cluster, for its clients. */
  constructor(person: Person, hosts: () => readonly string[]) {
    this.#plain = new V2('v3', person);
    this.#hosts = hosts;
  }

  *decode(bytes: Uint8Array, isBinary: boolean): Generator<LiveRequest, void, void> {
    if (!isBinary) throw new DecodeError('v3 websocket does not support text messages');
    for (const message of clientMessagesIn(bytes, arms)) {
      yield message.kind === 'resume' ? resumeOf(message) : requestOf(message);
    }
  }

  encode(events: readonly LiveEvent[], position?: CommitOffset): Encoded<EncodedMessage> {
    const messages: EncodedMessage[] = [];
    const offsets: number[] = [];
    this.#encode(events, messages, offsets);
    const last = offsets.length - 1;
    if (position !== undefined) this.#reach(position);
    // Whatever else is up to there does not concern this client.
    if (last >= 0) offsets[last] = this.#offset;
    return { messages, offsets, requests: [] };
  }

  #encode(events: readonly LiveEvent[], messages: EncodedMessage[], offsets: number[]): void {
    const add = (message: EncodedMessage, last: LiveEvent): void => {
      this.#reach(offsetOf(last));
      messages.push(message);
      offsets.push(this.#offset);
    };
    for (let at = 0; at < events.length; ) {
      const event = events[at] as LiveEvent;
      const doneEnd = endOfDone(events, at);
      const updatesEnd = doneEnd > at ? at : endOfUpdates(events, at);
      const end = Math.max(doneEnd, updatesEnd, at + 1);
      const last = events[end - 1] as LiveEvent;
      if (doneEnd > at) add(doneMessages(events, at, end), last);
      else if (updatesEnd > at) add(updateMessages(events, at, end), last);
      else if (event.kind === 'refused' && event.request.kind === 'resume') {
        // Nothing of it happened: the client reads its rows again, or learns why it cannot.
        add(this.#answer(event.request.requestId, 'rows', 0n), event);
      } else if (event.kind !== 'resumed') add(this.#plain.messageOf(event), event);
      else {
        // Where it was, until it has what it has missed.
        const { request, outcome } = event;
        messages.push(this.#answer(request.requestId, outcome.kind, outcome.history));
        const isBack = outcome.kind === 'resumed' && request.sets.length > 0;
        this.#offset = isBack ? Number(request.offset) : outcome.offset;
        offsets.push(this.#offset);
        this.#encode(event.missed, messages, offsets);
        this.#reach(outcome.offset);
      }
      at = end;
    }
  }

  #answer(requestId: number, kind: ResumeOutcome['kind'], history: bigint): EncodedMessage {
    const outcome = outcomes.indexOf(kind);
    const hosts = this.#hosts();
    return new EncodedMessage(
      encodeResumed({ kind: 'resumed', requestId, outcome, history, hosts }),
    );
  }

  #reach(offset: number | undefined): number {
    if (offset !== undefined && offset > this.#offset) this.#offset = offset;
    return this.#offset;
  }
}

const arms = [...clientArms, resumeArm];

/** As the message numbers them. */
const outcomes: readonly ResumeOutcome['kind'][] = ['resumed', 'rows', 'rewound'];

function resumeOf(message: Resume): LiveRequest {
  const { requestId, history, offset } = message;
  const sets = message.sets.map(({ querySetId: id, queries }) => {
    return { setId: querySetId(id), queries };
  });
  return { kind: 'resume', requestId, history, offset, sets };
}

/** The commit that the event is of, if it is of one. */
function offsetOf(event: LiveEvent): number | undefined {
  switch (event.kind) {
    case 'updated':
      return event.offset;
    case 'called':
    case 'subscribed':
    case 'unsubscribed':
    case 'oneOff':
      return 'offset' in event.outcome ? event.outcome.offset : undefined;
    default:
      return undefined;
  }
}
