import { Linker, type LinkerOptions, type LinkRequest } from '../../src/host/linking/linker.ts';
import type { LinksPrograms } from '../../src/host/workers/worker-placement.ts';
import type { Report } from '../../src/node/report-line.ts';

/** The reports of those that use the linker now. */
const reports = new Set<Report>();
let shared: Linker | undefined;

/**
 * Instead of a linker for each host of a test, a process with its bundler, one for all hosts of the
 * test's process: it is there when the next host needs it, and takes half a second to start. To a
 * host it is as its own: what it waits for ends when it closes its linker. It links what is published
 * before all else: the processors belong to many tests, and each waits for its programs. Those of
 * `linker.test.ts`, and of services that are processes, come after all callers. A service for one
 * author has its own.
 */
export function sharedLinker(options: LinkerOptions): LinksPrograms {
  if (options.isPrompt === true) return new Linker(options);
  const { entry, report } = options;
  shared ??= new Linker({ entry, report: reportToAll, isPrompt: true });
  return new LinkerShare(shared, report);
}

const reportToAll: Report = (line) => {
  for (const report of reports) report(line);
};

class LinkerShare implements LinksPrograms {
  readonly #linker: Linker;
  readonly #report: Report;
  readonly #closing = new AbortController();

  constructor(linker: Linker, report: Report) {
    this.#linker = linker;
    this.#report = report;
    reports.add(report);
  }

  link(request: LinkRequest): Promise<Uint8Array> {
    const { signal: closing } = this.#closing;
    const signal = AbortSignal.any(request.signal ? [request.signal, closing] : [closing]);
    return this.#linker.link({ ...request, signal });
  }

  close(): void {
    this.#closing.abort();
    reports.delete(this.#report);
  }
}
