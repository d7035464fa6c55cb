import type { CallError, ProcedureError, Refusal } from '../database/outcome.ts';
import type { Staying } from '../database/turn.ts';
import type { DeskPlace, DeskSink, LeaderDesk } from '../host/replication/leader-desk.ts';
import type {
  AttachedAnswer,
  AttachedClient,
  AttachedEnd,
  AttachedRequest,
  AttachedSink,
  Attachment,
} from '../host/replication/leader-line.ts';
import { lostElsewhere, noLeader, tooManyWait } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** The desk of a process that leads databases: the same object as long as the way to it is one. */
export interface AttachedLeader extends LeaderDesk {
  /** True if that process is known to have ended. */
  readonly hasEnded: boolean;
}

/** The clients of one database that are attached to this host. */
export interface AttachedGroup {
  readonly database: DatabaseIdentity;
  readonly all: Set<Attached>;
  /** Those who wait for something: a leader, an answer of one that has gone, room. */
  readonly restless: Set<Attached>;
  /** Requests that wait for a leader. */
  waiting: number;
}

interface AttachedAround {
  readonly group: AttachedGroup;
  readonly now: () => number;
  /** Name of this host. */
  readonly me: string;
  readonly leader: () => AttachedLeader | undefined;
  /** It has ended. */
  readonly gone: () => void;
}

interface Queued {
  readonly request: AttachedRequest;
  /** When it came. */
  readonly at: number;
  /** What any leader would answer; present if it is not sent for that. */
  readonly answer?: AttachedAnswer | undefined;
}

/** Its place with one leader. */
interface Post {
  readonly leader: AttachedLeader;
  readonly place: DeskPlace;
  /** Sent to it, and not answered, in order. */
  readonly sent: Set<AttachedRequest>;
  /** Sent to it, too, and given up here; it has them, and counts them, until it answers. */
  readonly forgotten: Set<AttachedRequest>;
  /** Of both. */
  bytes: number;
  /** When another host has led for long enough that this one is not waited for any more. */
  until: number;
}

/**
 * One client that is attached to this host, from leader to leader:
 *
 * ```
 *  waiting ──a leader is known──▶ posted ──it is lost──▶ waiting      unknown, or sent once more
 *  posted ──another host leads──▶ posted there, once the one before has said what it has done
 *  any ──refused, ended, closed, released──▶ over
 * ```
 */
export class Attached implements Attachment {
  readonly #client: AttachedClient;
  readonly #sink: AttachedSink;
  readonly #around: AttachedAround;
  #post: Post | undefined;
  /** With the leader before. */
  #leaving: Post | undefined;
  /** Not sent yet. */
  #queue: Queued[] = [];
  #stays: Staying | undefined;
  #isConnected: boolean;
  #isClosing = false;
  #isOver = false;
  /** Who has not taken it, and when it is asked again; the pause grows. */
  #lostAt: AttachedLeader | undefined;
  #againAt = 0;
  #pauseMillis = 0;
  #unreachedAt: number | undefined;
  readonly #begunAt: number;

  constructor(client: AttachedClient, sink: AttachedSink, around: AttachedAround) {
    this.#client = client;
    this.#sink = sink;
    this.#around = around;
    this.#isConnected = client.isConnected === true;
    this.#stays = this.#isConnected ? 'announced' : undefined;
    this.#begunAt = around.now();
  }

  get unanswered(): number {
    const posted = (this.#post?.sent.size ?? 0) + (this.#leaving?.sent.size ?? 0);
    return this.#queue.length + posted;
  }

  get leaderLives(): boolean {
    return [this.#leaving, this.#post].every((post) => {
      return post === undefined || post.sent.size === 0 || !post.leader.hasEnded;
    });
  }

  send(request: AttachedRequest): void {
    if (this.#isOver || this.#isClosing) return;
    const { group, now } = this.#around;
    if (this.#post === undefined && group.waiting >= limits.callQueueMax) {
      queueMicrotask(() => this.#refuse(request, tooManyWait()));
      return;
    }
    this.#enqueue([{ request, at: now(), answer: answerTo(request) }], 'last');
    this.#pump();
  }

  close(): void {
    if (this.#isOver || this.#isClosing) return;
    this.#isClosing = true;
    this.#pump();
  }

  release(): readonly AttachedRequest[] {
    const left = this.#queue.map(({ request }) => request);
    this.#over();
    return left;
  }

  /** Sees who leads, and goes on from there. */
  look(): void {
    if (this.#isOver) return;
    const now = this.#around.now();
    const leader = this.#around.leader();
    const leaving = this.#leaving;
    if (leaving !== undefined && (now >= leaving.until || leaving.leader.hasEnded)) {
      void leaving.place.close();
      this.#lose(leaving, []);
    }
    const post = this.#post;
    const isOther = leader !== undefined && post !== undefined && post.leader !== leader;
    if (isOther && this.#leaving === undefined) {
      post.until = now + limits.forwardGraceMillis;
      this.#leaving = post;
      this.#post = undefined;
    }
    const mayAsk = leader !== this.#lostAt || now >= this.#againAt;
    if (this.#post === undefined && leader !== undefined && mayAsk) this.#begin(leader);
    this.#giveUp(now);
    this.#pump();
  }

  #begin(leader: AttachedLeader): void {
    const { isConnected: _, ...client } = this.#client;
    if (this.#isClosing && !this.#isConnected) {
      this.#over();
      return;
    }
    const sink: DeskSink = {
      changed: () => this.#pump(),
      connected: (offset) => {
        if (this.#isOver) return;
        this.#stays = 'announced';
        this.#lostAt = undefined;
        if (this.#isConnected) return;
        this.#isConnected = true;
        this.#sink.connected(offset);
        this.#pump();
      },
      answered: (request, answer) => {
        if (this.#isOver) return;
        const isAwaited = post.sent.delete(request);
        if (!isAwaited && !post.forgotten.delete(request)) return;
        post.bytes -= bytesOf(request);
        if (isAwaited) this.#sink.answered(request, answer);
        this.#pump();
      },
      ended: (end) => this.#ended(end),
      lost: (undone) => this.#lose(post, undone),
    };
    const { me: through } = this.#around;
    const place = leader.admit({ ...client, stays: this.#stays, through }, sink);
    // Until the answer nobody knows whether it is connected.
    this.#stays ??= 'perhaps';
    const sets = { sent: new Set<AttachedRequest>(), forgotten: new Set<AttachedRequest>() };
    const post: Post = { leader, place, ...sets, bytes: 0, until: 0 };
    this.#post = post;
  }

  /** That leader is lost; what it has not done goes to the next one. */
  #lose(post: Post, undone: readonly AttachedRequest[]): void {
    if (this.#isOver) return;
    const isPresent = this.#post === post;
    if (isPresent) this.#post = undefined;
    else if (this.#leaving === post) this.#leaving = undefined;
    else return;
    const now = this.#around.now();
    if (isPresent) this.#pauseFor(post.leader, now);
    // The client was told that nobody knows of what was forgotten.
    const again = new Set(undone.filter((request) => !post.forgotten.has(request)));
    const unknown = [...post.sent].filter((request) => !again.has(request));
    const leaderLives = !post.leader.hasEnded;
    post.sent.clear();
    post.forgotten.clear();
    this.#enqueue(
      [...again].map((request) => ({ request, at: now })),
      'first',
    );
    for (const request of unknown) {
      if (!this.#isOver)
        this.#sink.answered(request, { kind: 'unknown', body: lostElsewhere().body, leaderLives });
    }
    this.#pump();
  }

  #pauseFor(leader: AttachedLeader, now: number): void {
    const { attachAgainMillis, attachAgainMillisMax } = limits;
    const isAgain = leader === this.#lostAt;
    const doubled = Math.min(2 * this.#pauseMillis, attachAgainMillisMax);
    this.#pauseMillis = isAgain ? doubled : attachAgainMillis;
    this.#lostAt = leader;
    this.#againAt = now + this.#pauseMillis;
  }

  #ended(end: AttachedEnd): void {
    if (this.#isOver) return;
    this.#over();
    // One that was connected has lost its database, or its place in it.
    const isGone = end.kind === 'turnedAway' && this.#isConnected;
    this.#sink.ended(isGone ? { kind: 'live', reason: 'database' } : end);
  }

  /** Those who have waited for too long hear that nothing was done, or that nobody knows. */
  #giveUp(now: number): void {
    const isReached = this.#post?.place.isReached === true;
    if (isReached) this.#unreachedAt = undefined;
    if (isReached || this.#isOver) return;
    this.#unreachedAt ??= now;
    const since = now - limits.waitLeaderMillis;
    if (this.#unreachedAt <= since) this.#forgetSent();
    if (this.#isOver) return;
    if (!this.#isConnected && this.#begunAt <= since) {
      this.#ended({ kind: 'turnedAway', body: noLeader().body });
      return;
    }
    for (const { request, at } of [...this.#queue]) {
      if (at > since || this.#isOver) return;
      this.#dequeue();
      this.#refuse(request, noLeader());
    }
  }

  /**
   * What the leader had is unknown: the way there has been gone for too long. If it comes back, the
   * leader still has all of it.
   */
  #forgetSent(): void {
    const post = this.#post;
    for (const request of [...(post?.sent ?? [])]) {
      if (post === undefined || this.#post !== post || !post.sent.delete(request)) return;
      post.forgotten.add(request);
      this.#sink.answered(request, { kind: 'unknown', body: lostElsewhere().body });
    }
  }

  #refuse(request: AttachedRequest, { body }: Refusal): void {
    if (!this.#isOver) this.#sink.answered(request, { kind: 'refused', body });
  }

  /** Sends what the leader takes now. What one before may still say comes first. */
  #pump(): void {
    const post = this.#post;
    while (post !== undefined && this.#post === post && this.#mayGo(post)) {
      const [next] = this.#queue;
      const answer = next?.answer;
      // In its turn: once it is let in, and has the answers to what it sent before.
      if (answer !== undefined && (post.sent.size > 0 || !this.#isConnected)) break;
      if (next === undefined || this.#leaving !== undefined) break;
      this.#dequeue();
      if (answer !== undefined) {
        this.#sink.answered(next.request, answer);
        continue;
      }
      post.sent.add(next.request);
      post.bytes += bytesOf(next.request);
      post.place.send(next.request);
    }
    if (this.#isOver) return;
    if (this.#isClosing) this.#goIfDone();
    if (this.#isOver) return;
    const isCalm = this.#queue.length === 0 && this.#leaving === undefined && this.#isConnected;
    if (isCalm && this.#post?.place.isReached === true) this.#around.group.restless.delete(this);
    else this.#around.group.restless.add(this);
  }

  #mayGo({ place, sent, forgotten, bytes }: Post): boolean {
    const count = sent.size + forgotten.size;
    const hasRoom = count < limits.attachedRequestsMax && bytes < limits.attachedBytesMax;
    return hasRoom && !place.isFull && place.isReached;
  }

  /** The client has left: what it has sent goes first, where somebody leads. */
  #goIfDone(): void {
    const post = this.#post;
    const isDue = this.#leaving !== undefined || this.#queue.length > 0;
    // Nobody announces it to a next leader, which ends it.
    if (post !== undefined && isDue) return;
    this.#over();
  }

  #enqueue(items: readonly Queued[], where: 'first' | 'last'): void {
    if (where === 'first') this.#queue.unshift(...items);
    else this.#queue.push(...items);
    this.#around.group.waiting += items.length;
  }

  #dequeue(): Queued | undefined {
    const next = this.#queue.shift();
    if (next !== undefined) this.#around.group.waiting -= 1;
    return next;
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#around.group.waiting -= this.#queue.length;
    this.#queue = [];
    for (const post of [this.#leaving, this.#post]) void post?.place.close();
    this.#post = undefined;
    this.#leaving = undefined;
    this.#around.gone();
  }
}

function bytesOf(request: AttachedRequest): number {
  const { args } = request;
  const argBytes = 'fault' in args ? args.fault.length : args.length;
  return Buffer.byteLength(nameOf(request)) + argBytes;
}

function nameOf(request: AttachedRequest): string {
  return request.kind === 'call' ? request.reducer : request.procedure;
}

/**
 * As a leader answers what calls a long name that no module can declare: identifiers have nothing
 * that JSON escapes, which makes a frame several times as long as what the client has sent.
 */
function answerTo(request: AttachedRequest): AttachedAnswer | undefined {
  const name = nameOf(request);
  const isSent = name.length <= limits.lineNameCharactersMax;
  if (isSent || JSON.stringify(name).length === name.length + 2) return undefined;
  const failed = { kind: 'failed', micros: 0 } as const;
  if (request.kind === 'procedure') {
    const error: ProcedureError = { code: 'procedure.unknown', procedure: name };
    return { kind: 'procedure', outcome: { ...failed, error } };
  }
  const error: CallError = { code: 'reducer.unknown', reducer: name };
  const timestampMicros = BigInt(Date.now()) * 1_000n;
  return { kind: 'called', outcome: { kind: 'aborted', error, micros: 0 }, timestampMicros };
}
