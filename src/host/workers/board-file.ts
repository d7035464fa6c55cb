import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ScheduledMark } from '../../database/schedules/scheduled-mark.ts';
import type { Ticket } from '../../database/ticket.ts';
import { actorBoardBytes, Board, boardBytes } from '../seats/board.ts';
import type { ActorBoard } from './actor.ts';

/**
 * The board of an actor in a process of its own: a small file without a name, which the process
 * writes and its watcher reads. The last write survives even if the process is killed in the middle
 * of anything. One write costs about a microsecond where the file is kept in memory.
 */
export class BoardFile implements ActorBoard {
  readonly #descriptor: number;
  readonly #bytes: Uint8Array;
  readonly #board: Board;

  /**
   * Opens the board for the process that writes, with what the file already holds. `words`: where
   * other threads of the process can read it.
   */
  constructor(descriptor: number, words: ArrayBufferLike = new ArrayBuffer(boardBytes)) {
    this.#descriptor = descriptor;
    this.#bytes = new Uint8Array(words);
    fs.readSync(descriptor, this.#bytes, 0, boardBytes, 0);
    this.#board = new Board(this.#bytes.buffer);
  }

  calling(ticket: Ticket): void {
    this.#board.calling(ticket);
    this.#write();
  }

  scheduled(mark: ScheduledMark): void {
    this.#board.scheduled(mark);
    this.#write();
  }

  viewing(): void {
    this.#board.viewing();
    this.#write();
  }

  viewed(): void {
    this.#board.viewed();
    this.#write();
  }

  loading(): void {
    this.#board.loading();
    this.#write();
  }

  writing(ticket: Ticket): void {
    this.#board.writing(ticket);
    this.#write();
  }

  resting(): void {
    this.#board.resting();
    this.#write();
  }

  tookMessage(): void {
    this.#board.tookMessage();
    this.#write();
  }

  holds(bytes: number): void {
    this.#board.holds(bytes);
    this.#write();
  }

  runsOn(systemThreadId: number): void {
    this.#board.runsOn(systemThreadId);
    this.#write();
  }

  runsProcedures(count: number): void {
    this.#board.runsProcedures(count);
    this.#write();
  }

  lending(): void {
    this.#board.lending();
    this.#write();
  }

  isAbandoned(ticket: Ticket): boolean {
    const length = boardBytes - actorBoardBytes;
    fs.readSync(this.#descriptor, this.#bytes, actorBoardBytes, length, actorBoardBytes);
    return this.#board.isAbandoned(ticket);
  }

  #write(): void {
    fs.writeSync(this.#descriptor, this.#bytes, 0, actorBoardBytes, 0);
  }
}

/** The watcher's side of a board file. */
export class BoardMirror {
  readonly #descriptor: number;
  readonly #bytes = new Uint8Array(boardBytes);
  readonly #board = new Board(this.#bytes.buffer);
  #isOpen = true;

  /** Creates the file. Requests up to `lastTicket` belong to earlier actors. */
  constructor(lastTicket: Ticket) {
    this.#descriptor = openNameless();
    this.#board.startAfter(lastTicket);
    fs.writeSync(this.#descriptor, this.#bytes, 0, boardBytes, 0);
  }

  /** The descriptor for the process to inherit. */
  get descriptor(): number {
    return this.#descriptor;
  }

  /** The board as the process last wrote it. */
  get board(): Board {
    if (this.#isOpen) fs.readSync(this.#descriptor, this.#bytes, 0, boardBytes, 0);
    return this.#board;
  }

  /** See `Worker`. */
  abandon(ticket: Ticket): void {
    if (!this.#isOpen) return;
    this.#board.abandon(ticket);
    const length = boardBytes - actorBoardBytes;
    fs.writeSync(this.#descriptor, this.#bytes, actorBoardBytes, length, actorBoardBytes);
  }

  /** Reads the board a last time, once the process has ended. */
  close(): void {
    if (!this.#isOpen) return;
    void this.board;
    this.#isOpen = false;
    fs.closeSync(this.#descriptor);
  }
}

/** In memory, where the platform has a folder for it: a disk that syncs would slow each call. */
const folders = ['/dev/shm', tmpdir()];

let fileCount = 0;

function openNameless(): number {
  let fault: unknown;
  for (const folder of folders) {
    fileCount += 1;
    const file = path.join(folder, `reducerdb-board-${process.pid}-${fileCount}-${Date.now()}`);
    try {
      const descriptor = fs.openSync(file, 'wx+', 0o600);
      fs.unlinkSync(file);
      return descriptor;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}
