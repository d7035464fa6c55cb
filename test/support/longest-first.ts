import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The files that take longest, about the longest first. Those that keep the processor busy all the
 * time (siege, memory, killers, bombs) stand between others that wait, so that they run apart.
 */
const longest = [
  'test/service/siege.test.ts',
  'test/console/pages.test.ts',
  'test/console/quiet-page.test.ts',
  'test/docs/guides.test.ts',
  'test/templates/templates.test.ts',
  'test/templates/stranger.test.ts',
  'test/service/cluster-store.test.ts',
  'test/console/page-memory.test.ts',
  'test/service/cluster-operate.test.ts',
  'test/service/dev-schema.test.ts',
  'test/service/linking.test.ts',
  'test/service/cli-generate.test.ts',
  'test/service/cli-publish.test.ts',
  'test/service/lending-life.test.ts',
  'src/host/seats/budget.test.ts',
  'test/service/soak.test.ts',
  'test/service/mcp-clients.test.ts',
  'test/hostile/memory.test.ts',
  'test/service/cli.test.ts',
  'test/browser/helpdesk.test.ts',
  'test/service/visibility-matrix.test.ts',
  'test/hostile/killers.test.ts',
  'test/service/cli-start.test.ts',
  'test/service/canary.test.ts',
  'test/service/deploys.test.ts',
  'test/service/static-files.test.ts',
  'test/browser/apps.test.ts',
  'test/bench.test.ts',
  'test/hostile/bombs.test.ts',
  'test/service/restart.test.ts',
  'test/service/bounds.test.ts',
  'test/hostile/process-isolation.test.ts',
  'test/cluster/two-hosts.test.ts',
  'test/service/endless-plan.test.ts',
  'test/contracts/database-handle.test.ts',
  'src/host/host.test.ts',
  'src/host/env.test.ts',
  'test/service/gateway-delay.test.ts',
  'test/service/rights-matrix.test.ts',
  'test/service/mcp-reducer-clients.test.ts',
  'test/service/websocket-v2.test.ts',
  'test/service/cli-mcp.test.ts',
  'src/sql/operators/held-bytes.test.ts',
  'test/service/cli-user.test.ts',
  'test/service/long-reads.test.ts',
  'test/service/full-disk.test.ts',
];

for (const file of longest) {
  if (!existsSync(path.join(root, file))) throw new Error(`longest-first.ts names ${file}: gone`);
}

/**
 * Starts the files that take longest first, so that at the end no worker is left alone with one;
 * then other files with a process of their own, then those that share one, project by project: a
 * process goes on only with what comes next. The order is the same in each run, whatever ran
 * before.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
      .map((file) => ({ file, name: path.relative(root, file.moduleId) }))
      .sort((a, b) => place(a) - place(b) || rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
      .map(({ file }) => file);
  }
}

interface Named {
  readonly file: TestSpecification;
  readonly name: string;
}

/** Projects whose files share processes, in their order. */
const sharing = ['hosts', 'together'];

function place({ file }: Named): number {
  return sharing.indexOf(file.project.name);
}

function rank({ name }: Named): number {
  const at = longest.indexOf(name);
  return at < 0 ? longest.length : at;
}
