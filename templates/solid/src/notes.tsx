import { For, Match, Show, Switch } from 'solid-js';
import { client } from './database.ts';
import { rowsOf, signalOf } from './watch.ts';

export function Notes(props: { onProblem: (text: string) => void }) {
  const query = client.watch((from) => from.note, { sort: (a, b) => Number(b.id - a.id) });
  const state = signalOf(query);
  const notes = rowsOf(query, 'id');
  const { likeNote, removeNote } = client.reducers;
  const attempt = (call: Promise<unknown>) => {
    call.then(() => props.onProblem('')).catch((error: Error) => props.onProblem(error.message));
  };

  return (
    <Switch>
      <Match when={state().error}>{(error) => <p class="problem">{error().message}</p>}</Match>
      <Match when={!state().isReady}>
        <p class="hint">Loading …</p>
      </Match>
      <Match when={true}>
        <ul class="notes">
          <For each={notes}>
            {(note) => (
              <li>
                <span class="text">{note.text}</span>
                <button
                  type="button"
                  aria-label="Like"
                  onClick={() => attempt(likeNote({ id: note.id }))}
                >
                  ♥ {note.likes}
                </button>
                <Show when={client.identity && note.author.equals(client.identity)}>
                  <button type="button" onClick={() => attempt(removeNote({ id: note.id }))}>
                    Remove
                  </button>
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Match>
    </Switch>
  );
}
