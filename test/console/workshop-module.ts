/**
 * A module for the pages about what runs: a function of each kind with documentation, one that
 * crashes, one that refuses, schedules, and a log.
 */
export const workshopModule = `
  import {
    Router, ScheduleAt, SenderError, SyncResponse, schema, t, table,
  } from 'reducerdb/server';

  const Status = t.enum('Status', ['open', 'paid', 'shipped']);
  const Shape = t.enum('Shape', { circle: t.f64(), text: t.string(), nothing: t.unit() });
  const Place = t.object('Place', { x: t.i32(), y: t.i32() });

  const job = table(
    { public: true },
    { id: t.u64().primaryKey().autoInc(), title: t.string(), status: Status, owner: t.identity() },
  );
  const tick = table(
    { scheduled: (): any => beat },
    { id: t.u64().primaryKey().autoInc(), scheduledAt: t.scheduleAt(), isFaulty: t.bool() },
  );
  const db = schema({ job, tick });
  export default db;

  /**
   * Adds a job.
   *
   * The title is shown to everybody.
   * @param title What is to be done.
   */
  export const addJob = db.reducer({ title: t.string(), status: Status }, (ctx, { title, status }) => {
    if (title.trim() === '') throw new SenderError('a job needs a title');
    console.log('adding ' + title);
    ctx.db.job.insert({ id: 0n, title, status, owner: ctx.sender });
  });

  /** Moves all jobs on. */
  export const finishAll = db.reducer((ctx) => {
    for (const row of [...ctx.db.job.iter()]) ctx.db.job.id.update({ ...row, status: { tag: 'shipped' } });
  });

  /** Takes a value of each kind, and logs it. */
  export const takeAll = db.reducer(
    {
      big: t.u256(),
      small: t.i8(),
      ratio: t.f64(),
      isOn: t.bool(),
      shape: Shape,
      place: Place,
      maybe: t.option(t.u32()),
      labels: t.array(t.string()),
      bytes: t.array(t.u8()),
      pause: t.timeDuration(),
      at: t.timestamp(),
      who: t.identity(),
      key: t.uuid(),
    },
    (ctx, all) => {
      console.warn([
        all.big, all.small, all.ratio, all.isOn, all.shape.tag, all.place.x, all.maybe, all.labels.join('+'),
        new TextDecoder().decode(new Uint8Array(all.bytes)), all.pause.micros, all.at.microsSinceUnixEpoch,
        all.who.toHexString().length, String(all.key),
      ].join(' '));
    },
  );

  export const crash = db.reducer(() => {
    fail('it broke');
  });

  function fail(text: string): void {
    throw new TypeError(text);
  }

  export const say = db.reducer({ level: t.string(), text: t.string() }, (_ctx, { level, text }) => {
    if (level === 'error') console.error(text);
    else if (level === 'warn') console.warn(text);
    else if (level === 'debug') console.debug(text);
    else console.log(text);
  });

  /** Adds two numbers. */
  export const sum = db.procedure({ a: t.u32(), b: t.u32() }, t.u32(), (_ctx, { a, b }) => a + b);

  /** Jobs that are open. */
  export const openJobs = db.view({ public: true }, t.array(job.rowType), (ctx) => {
    return [...ctx.db.job.iter()].filter((row) => row.status.tag === 'open');
  });

  export const showJob = db.httpHandler((_ctx, request) => {
    return new SyncResponse('job ' + request.params.id, { headers: { 'content-type': 'text/plain' } });
  });
  export const router = db.httpRouter(new Router().get('/jobs/:id', showJob));

  export const beat = db.reducer({ row: tick.rowType }, (_ctx, { row }) => {
    if (row.isFaulty) fail('the schedule broke');
    console.log('a beat');
  });

  export const plan = db.reducer({ minutes: t.u32(), isFaulty: t.bool() }, (ctx, { minutes, isFaulty }) => {
    const scheduledAt = ScheduleAt.interval(BigInt(minutes) * 60_000_000n);
    ctx.db.tick.insert({ id: 0n, scheduledAt, isFaulty });
  });
`;
