import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { unreachable } from '../../assert.ts';
import type {
  SnapshotDesk,
  SnapshotEvents,
  SnapshotFile,
} from '../../database/snapshots/snapshot-desk.ts';
import type { SnapshotBlock, SnapshotPlace } from '../../log/snapshot.ts';
import type { FromSnapshotThread, ToSnapshotThread } from './snapshot-messages.ts';

export interface RemoteSnapshotsOptions {
  /** Asks the gateway for a place among the snapshots of the service; `granted` follows. */
  readonly ask: () => void;
  /** Gives the place back, or the wish for one. */
  readonly leave: () => void;
  /** Hands a port to the thread that writes snapshots. */
  readonly open: (port: MessagePort) => void;
}

/** The snapshots of an actor, which another thread writes when the gateway has a place for them. */
export class RemoteSnapshots implements SnapshotDesk {
  readonly #options: RemoteSnapshotsOptions;
  #asked: RemoteSnapshot | undefined;

  constructor(options: RemoteSnapshotsOptions) {
    this.#options = options;
  }

  ask(expectedBytes: number, events: SnapshotEvents): SnapshotFile {
    const snapshot = new RemoteSnapshot(this.#options, expectedBytes, events);
    this.#asked = snapshot;
    this.#options.ask();
    return snapshot;
  }

  /** There is a place for what was asked for. */
  granted(): void {
    this.#asked?.open();
    this.#asked = undefined;
  }
}

class RemoteSnapshot implements SnapshotFile {
  readonly #options: RemoteSnapshotsOptions;
  readonly #expectedBytes: number;
  readonly #events: SnapshotEvents;
  #port: MessagePort | undefined;
  #isOver = false;

  constructor(options: RemoteSnapshotsOptions, expectedBytes: number, events: SnapshotEvents) {
    this.#options = options;
    this.#expectedBytes = expectedBytes;
    this.#events = events;
  }

  open(): void {
    if (this.#isOver) return;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', (message: FromSnapshotThread) => this.#receive(message));
    port1.on('close', () => this.#lost());
    this.#options.open(port2);
    this.#send({ kind: 'ask', bytes: this.#expectedBytes });
  }

  begin(place: SnapshotPlace): void {
    this.#send({ kind: 'begin', place });
  }

  add(block: SnapshotBlock): void {
    this.#send({ kind: 'add', block }, buffersOf(block));
  }

  finish(): void {
    this.#send({ kind: 'finish' });
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#send({ kind: 'cancel' });
    this.#end();
  }

  #receive(message: FromSnapshotThread): void {
    if (this.#isOver) return;
    switch (message.kind) {
      case 'ready':
        this.#events.ready();
        return;
      case 'taken':
        this.#events.taken(message.buffer);
        return;
      case 'finished':
        this.#end();
        this.#events.finished(message.bytes);
        return;
      case 'failed':
        this.#end();
        this.#events.failed(message.message, message.isForSpace);
        return;
      default:
        unreachable(message);
    }
  }

  #lost(): void {
    if (this.#isOver) return;
    this.#end();
    const message = 'A snapshot of the database was lost: the thread that writes it ended';
    this.#events.failed(message, false);
  }

  #send(message: ToSnapshotThread, transfer: ArrayBuffer[] = []): void {
    this.#port?.postMessage(message, transfer);
  }

  #end(): void {
    this.#isOver = true;
    this.#port?.close();
    this.#options.leave();
  }
}

/** Rows, pieces of a program and of images change owner; the rest is copied. */
function buffersOf(block: SnapshotBlock): ArrayBuffer[] {
  const buffer = bytesOf(block)?.buffer;
  return buffer instanceof ArrayBuffer ? [buffer] : [];
}

function bytesOf(block: SnapshotBlock): Uint8Array | undefined {
  if (block.kind === 'program') return block.bytes;
  if (block.kind === 'derived') return block.piece.bytes;
  return block.kind === 'rows' ? block.rows.bytes : undefined;
}
