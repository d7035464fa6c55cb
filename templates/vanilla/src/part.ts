/** The element of the page that a selector finds. */
export function part<E extends Element>(selector: string, type: new () => E): E {
  const found = document.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`index.html has no ${selector}`);
  return found;
}
