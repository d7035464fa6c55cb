import type { ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import type { Socket } from 'node:net';
import { unreachable } from '../../assert.ts';
import { leaveSignalsToParent } from '../../node/parents-signals.ts';
import { runCommand } from '../../node/run-command.ts';
import { channelsOf, spawnChild } from './spawn-child.ts';
import type { FromSpawner, ToSpawner } from './spawner-messages.ts';

/**
 * Runs the spawner: it starts the processes of databases for the gateway and reports their ends,
 * and nothing else. It never sees a row, a program or a message of a client, so it stays small,
 * which makes starting a process cheap. It ends with the gateway.
 */
const children = new Map<number, ChildProcess>();

process.title = 'reducerdb spawner';
leaveSignalsToParent();
process.on('disconnect', () => process.exit());
process.on('message', (message) => receive(message as ToSpawner));

function receive(request: ToSpawner): void {
  switch (request.kind) {
    case 'start':
      start(request);
      return;
    case 'kill':
      children.get(request.child)?.kill('SIGKILL');
      tell({ kind: 'done', id: request.id });
      return;
    case 'run':
      runCommand(request.command, request.words).then(
        () => tell({ kind: 'done', id: request.id }),
        (error: unknown) => tellFault(request.id, error),
      );
      return;
    default:
      unreachable(request);
  }
}

function start({ id, order, board }: ToSpawner & { readonly kind: 'start' }): void {
  let descriptor: number | undefined;
  try {
    descriptor = fs.openSync(board, 'r+');
    const child = spawnChild(order, descriptor);
    child.on('error', (error) => {
      if (child.pid === undefined) tellFault(id, error);
    });
    if (child.pid !== undefined) handOver(id, child, child.pid);
  } catch (error) {
    tellFault(id, error, descriptor === undefined && isRefusal(error));
  } finally {
    if (descriptor !== undefined) fs.closeSync(descriptor);
  }
}

/** Messages behind one with a handle wait until the handle has arrived and is closed here. */
function handOver(id: number, child: ChildProcess, pid: number): void {
  children.set(id, child);
  child.on('exit', (code, signal) => {
    children.delete(id);
    tell({ kind: 'ended', id, code, signal });
  });
  const [channel, lanes] = channelsOf(child);
  tell({ kind: 'started', id, pid }, channel as Socket);
  tell({ kind: 'lanes', id }, lanes as Socket);
  tell({ kind: 'handed', id });
}

/** Errors by which the system keeps one process from the descriptors of another. */
const refusals: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'ENOENT']);

function isRefusal(error: unknown): boolean {
  return refusals.has(codeOf(error));
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function tellFault(id: number, error: unknown, isBoardRefused = false): void {
  const message = error instanceof Error ? error.message : String(error);
  tell({ kind: 'fault', id, isBoardRefused, code: codeOf(error), message });
}

/** A message that cannot be sent is for a gateway that is gone. */
function tell(message: FromSpawner, channel?: Socket): void {
  process.send?.(message, channel, { keepOpen: false }, () => undefined);
}
