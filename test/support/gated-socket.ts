import { WebSocket } from 'ws';
import type { WebSocketClass } from '../../src/client/index.ts';

/** WebSockets of one client that can be cut, and kept away until the test lets them in. */
export class SocketGate {
  readonly #open = new Set<WebSocket>();
  #isShut = false;
  /** Where sockets were opened, in order. */
  readonly hosts: string[] = [];

  /** The class for `ConnectOptions.webSocket`. */
  readonly webSocket: WebSocketClass;

  constructor() {
    const gate = this;
    const gated = class extends WebSocket {
      constructor(url: string | URL, protocols?: string | string[]) {
        if (gate.#isShut) throw new Error('the gate is shut');
        super(url, protocols);
        gate.hosts.push(new URL(url).host);
        gate.#open.add(this);
        this.on('close', () => gate.#open.delete(this));
      }
    };
    this.webSocket = gated as unknown as WebSocketClass;
  }

  /** Cuts what is open, without a close frame, and lets nothing in. */
  shut(): void {
    this.#isShut = true;
    for (const socket of this.#open) socket.terminate();
  }

  letIn(): void {
    this.#isShut = false;
  }
}

/** The rows of the tavern, as its clients see them without the module's types. */
export interface PersonRows {
  readonly person: Rows<{ readonly id: number }>;
  readonly ring: Rows<{ readonly tune: string }>;
}

interface Rows<Row> extends Iterable<Row> {
  onInsert(told: Told<Row>): void;
  onDelete(told: Told<Row>): void;
}

type Told<Row> = (context: { readonly event: { readonly tag: string } }, row: Row) => void;
