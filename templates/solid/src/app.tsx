import { createSignal, Show } from 'solid-js';
import { client } from './database.ts';
import { Notes } from './notes.tsx';
import { signalOf } from './watch.ts';

export function App() {
  const state = signalOf(client.state);
  const visitors = signalOf(client.watch((from) => from.visitor));
  const windows = () => visitors().rows.length;
  const [text, setText] = createSignal('');
  const [problem, setProblem] = createSignal('');

  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const added = await client.reducers.addNote.result({ text: text() });
    setProblem(added.ok ? '' : added.error.message);
    if (added.ok) setText('');
  };

  return (
    <main>
      <header>
        <h1>{{name}}</h1>
        <Show
          when={state().kind === 'live'}
          fallback={<p class="presence offline">connecting …</p>}
        >
          <p class="presence">
            {windows()} {windows() === 1 ? 'window' : 'windows'} open
          </p>
        </Show>
      </header>
      <form class="composer" onSubmit={add}>
        <input
          aria-label="Note"
          placeholder="Write a note"
          value={text()}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Add</button>
      </form>
      <Show when={problem() !== ''}>
        <p class="problem" role="alert">
          {problem()}
        </p>
      </Show>
      <Notes onProblem={setProblem} />
      <p class="hint">
        Open this page in a second window. The database is <code>module/src/index.ts</code>, the
        page is <code>src/app.tsx</code>: save either one.
      </p>
    </main>
  );
}
