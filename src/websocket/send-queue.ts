import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { Backlog } from './backlog.ts';
import { EncodedMessage, type Packing } from './encoded-message.ts';
import { LastJoin } from './last-join.ts';
import { LateMessage, type LateReader } from './late-message.ts';
import type { Socket } from './socket.ts';

export interface SendQueueOptions extends Packing {
  /** Whether one frame can hold several messages. */
  readonly packs: boolean;
  /** Whether each frame begins with where its client is when it has it. */
  readonly tellsOffset?: boolean;
  readonly messagesMax: number;
  readonly bytesMax: number;
  /** Shared by all sockets of the door. */
  readonly backlog: Backlog;
}

/** A message, or one that is still being written. */
export type QueuedMessage = EncodedMessage | LateMessage;

/** Frames that are ready, being written or being compressed. */
interface Slot {
  chunks: readonly Uint8Array[] | undefined;
  readonly messageCount: number;
  /** Size before compression; of what is being written, what is held for it. */
  byteCount: number;
}

/** Called when a message that is being written has grown, or cannot be written. */
export type LateGrown = (fault: unknown) => void;

/**
 * Queues messages for one socket. Messages pushed together are sent in one write and, in a packing
 * version, in as few frames as possible. They are sent in the order of `push`, even when some of
 * them are written in slices or compressed asynchronously.
 *
 * Bounded: `push` returns false when the queue exceeds its limits, and the owner drops the socket.
 */
export class SendQueue {
  readonly #socket: Socket;
  readonly #options: SendQueueOptions;
  #messages: EncodedMessage[] = [];
  /** Of each of them, in a version that tells it. */
  #offsets: number[] = [];
  /** In order; the first one is not ready. */
  #slots: Slot[] = [];
  /** Frames in slots since the last flush. */
  #frameCount = 0;
  /** Ends the waiting for messages that are being written. */
  readonly #late = new Map<LateMessage, LateReader>();
  #messageCount = 0;
  #byteCount = 0;
  /** The time of each write that the system has not accepted yet. */
  readonly #writtenAt: number[] = [];
  #isAbandoned = false;

  constructor(socket: Socket, options: SendQueueOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  /** Messages not yet accepted by the system; `byteCount` is their size before compression. */
  get messageCount(): number {
    return this.#messageCount;
  }

  get byteCount(): number {
    return this.#byteCount;
  }

  /** Returns how long the oldest write has waited for the system to accept it. */
  waitingMillis(nowMillis: number): number {
    const [oldest = nowMillis] = this.#writtenAt;
    return Math.max(0, nowMillis - oldest);
  }

  /** Whether the queue is within its limits. */
  get fits(): boolean {
    const { messagesMax, bytesMax } = this.#options;
    return this.#messageCount <= messagesMax && this.#byteCount <= bytesMax;
  }

  /**
   * Queues a message for the next `flush`. Returns false if the queue exceeds its limits. What is
   * still being written grows: each time `grown` is called, with the fault that ends it, if any.
   */
  push(message: QueuedMessage, offset = 0, grown?: LateGrown): boolean {
    if (this.#isAbandoned) return true;
    this.#messageCount += message.messageCount;
    this.#count(message.byteCount);
    if (message instanceof LateMessage) this.#pushLate(message, grown);
    else this.#messages.push(message);
    if (this.#options.tellsOffset === true) this.#offsets.push(offset);
    return this.fits;
  }

  /** Writes all pushed messages. Returns the number of frames. */
  flush(nowMillis = performance.now()): number {
    this.#fillSlots();
    const count = this.#frameCount;
    if (count === 0) return 0;
    this.#frameCount = 0;
    this.#writeReady(nowMillis);
    return count;
  }

  /** Drops the queue after the socket has gone. */
  abandon(): void {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#options.backlog.remove(this.#byteCount);
    this.#messages = [];
    this.#offsets = [];
    this.#slots = [];
    this.#writtenAt.length = 0;
    for (const [message, reader] of this.#late) message.leave(reader);
    this.#late.clear();
  }

  #count(byteCount: number): void {
    this.#byteCount += byteCount;
    this.#options.backlog.add(byteCount);
  }

  /** Moves pushed messages into slots, in order. */
  #fillSlots(): void {
    const messages = this.#messages;
    if (messages.length === 0) return;
    this.#messages = [];
    const groups = this.#options.packs ? grouped(messages) : messages.map((one) => [one]);
    const offsets = this.#offsets;
    if (offsets.length > 0) this.#offsets = [];
    let end = 0;
    for (const group of groups) {
      end += group.length;
      this.#slots.push(this.#slotOf(group, offsets[end - 1]));
    }
    this.#frameCount += groups.length;
  }

  /** Takes the place of a message that is being written. */
  #pushLate(message: LateMessage, grown: LateGrown | undefined): void {
    const { opcode, compression, packs, tellsOffset } = this.#options;
    const isAlone = compression === 'none' && !packs && tellsOffset !== true;
    assert(isAlone, 'only text is written in slices, which is neither packed nor compressed');
    this.#fillSlots();
    const { messageCount, byteCount, whole } = message;
    const slot: Slot = { chunks: whole?.frame(opcode), messageCount, byteCount };
    this.#slots.push(slot);
    this.#frameCount += 1;
    if (whole !== undefined) return;
    const reader: LateReader = {
      grown: () => {
        if (this.#isAbandoned) return;
        const { byteCount, whole, fault } = message;
        this.#count(byteCount - slot.byteCount);
        slot.byteCount = byteCount;
        if (whole !== undefined) {
          message.leave(reader);
          this.#late.delete(message);
          slot.chunks = whole.frame(opcode);
          this.#writeReady();
        }
        grown?.(fault);
      },
    };
    this.#late.set(message, reader);
    message.await(reader);
  }

  #slotOf(group: readonly EncodedMessage[], offset: number | undefined): Slot {
    const message = joined(group);
    const { opcode, compression } = this.#options;
    const byteCount = message.byteCount;
    const { messageCount } = message;
    const slot: Slot = { chunks: undefined, messageCount, byteCount };
    if (compression === 'none' || byteCount < limits.socketCompressBytesMin) {
      slot.chunks = message.frame(opcode, offset);
      return slot;
    }
    const ready = (chunks: readonly Uint8Array[]): void => {
      slot.chunks = chunks;
      this.#writeReady();
    };
    // Send uncompressed if compression fails.
    message
      .compressedFrame(compression, offset)
      .then(ready, () => ready(message.frame(opcode, offset)));
    return slot;
  }

  #writeReady(nowMillis = performance.now()): void {
    const slots = this.#slots;
    const chunks: Uint8Array[] = [];
    let messageCount = 0;
    let byteCount = 0;
    let count = 0;
    for (const slot of slots) {
      if (slot.chunks === undefined) break;
      for (const chunk of slot.chunks) chunks.push(chunk);
      messageCount += slot.messageCount;
      byteCount += slot.byteCount;
      count += 1;
    }
    if (count === 0) return;
    this.#slots = slots.slice(count);
    const isSmall = chunks.length > 1 && byteCount <= joinedBytesMax;
    const whole = isSmall ? [joinedChunks.of(chunks)] : chunks;
    this.#writtenAt.push(nowMillis);
    this.#socket.write(whole, () => this.#written(messageCount, byteCount));
  }

  #written(messageCount: number, byteCount: number): void {
    this.#writtenAt.shift();
    this.#messageCount -= messageCount;
    this.#byteCount -= byteCount;
    if (!this.#isAbandoned) this.#options.backlog.remove(byteCount);
  }
}

/** Groups messages into frames, as many in each as its bounds allow. */
function grouped(messages: readonly EncodedMessage[]): EncodedMessage[][] {
  const groups: EncodedMessage[][] = [];
  let group: EncodedMessage[] = [];
  let messageCount = 0;
  let byteCount = 0;
  for (const message of messages) {
    const isFull =
      messageCount + message.messageCount > limits.serverFrameMessagesMax ||
      byteCount + message.byteCount > limits.serverFrameBytesTarget;
    if (isFull && group.length > 0) {
      groups.push(group);
      group = [];
      messageCount = 0;
      byteCount = 0;
    }
    group.push(message);
    messageCount += message.messageCount;
    byteCount += message.byteCount;
  }
  groups.push(group);
  return groups;
}

/** Concatenates messages without separators. */
function joined(group: readonly EncodedMessage[]): EncodedMessage {
  const [first] = group;
  return first !== undefined && group.length === 1 ? first : joinedMessages.of(group);
}

const joinedMessages = new LastJoin((group: readonly EncodedMessage[]) =>
  EncodedMessage.joined(group),
);

/** Several chunks up to this total size are joined into one write, which costs less. */
const joinedBytesMax = 65_536;
const joinedChunks = new LastJoin((chunks: readonly Uint8Array[]) => Buffer.concat(chunks));

/** Called after a flush of all sockets: releases the parts they shared. */
export function forgetJoined(): void {
  joinedMessages.forget();
  joinedChunks.forget();
}
