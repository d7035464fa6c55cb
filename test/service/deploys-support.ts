import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildText } from '../support/build-text.ts';
import { sourceOf, type Version } from '../support/deploy-versions.ts';
import type { Sandbox } from './harness.ts';

/** Builds a version and writes it to a file of the sandbox; returns its path. */
export async function bundleOf(sandbox: Sandbox, version: Version): Promise<string> {
  const { bytes } = await buildText(sourceOf(version));
  const file = path.join(sandbox.folder, `${version.word}.js`);
  writeFileSync(file, bytes);
  return file;
}

export interface ShownDeploy {
  readonly deploy: number;
  readonly kind: string;
  readonly program: string;
  readonly offset: number;
  readonly time: number | null;
  readonly by: string | null;
  readonly of: number | null;
  readonly message: string;
  readonly plan: string;
  readonly static: boolean;
  readonly kept: boolean;
  readonly canary: { readonly state: string; readonly reason: string } | null;
}

export interface ShownDeploys {
  readonly running: number | null;
  readonly deploys: readonly ShownDeploy[];
}

/** The deploys of a database, as the command prints them for programs. */
export async function deploysOf(sandbox: Sandbox, database: string): Promise<ShownDeploys> {
  return JSON.parse(await sandbox.ok(['deploys', database, '--json']));
}

/** What a reducer of the running program says. */
export async function wordOf(sandbox: Sandbox, database: string): Promise<string> {
  const { stderr } = await sandbox.run(['call', database, 'tell']);
  return /\b(one|two|three|four|bad)\b/.exec(stderr)?.[1] ?? stderr;
}
