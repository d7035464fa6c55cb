import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { assert } from '../../assert.ts';
import type { FetchOutcome, LaneLink, OutboundRequest } from '../../module/lane.ts';
import { encodeHttpRequest } from '../../protocol/http-abi.ts';
import { sizeFault } from '../outbound/size-fault.ts';

/** The way of a lane to the one who sends its HTTP requests; the gateway has the other end. */
export interface RequestWay {
  readonly port: MessagePort;
  /** One word of 32 bits: answers on the port, counted by the gateway. */
  readonly answers: SharedArrayBuffer;
}

/** Lane to gateway: one request, while none is under way. The answer is a `FetchOutcome`. */
export interface RequestMessage {
  /** An encoded `HttpRequest`. */
  readonly head: Uint8Array;
  readonly body: Uint8Array;
}

/** Sends requests over a way, and blocks the thread until each is answered. */
export function waitingFetch({ port, answers }: RequestWay): NonNullable<LaneLink['fetch']> {
  const counter = new Int32Array(answers);
  return (request: OutboundRequest): FetchOutcome => {
    const fault = sizeFault(request);
    // It is not even copied.
    if (fault !== undefined) return { kind: 'failed', message: `error sending request: ${fault}` };
    const { body } = request;
    const message: RequestMessage = { head: encodeHttpRequest(request.head), body };
    const answered = Atomics.load(counter, 0);
    port.postMessage(message);
    while (Atomics.load(counter, 0) === answered) Atomics.wait(counter, 0, answered);
    const received = receiveMessageOnPort(port);
    assert(received !== undefined, 'an answer is posted before it is counted');
    return received.message as FetchOutcome;
  };
}
