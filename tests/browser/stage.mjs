// A directory and a browser for the tests of one file: there before the first of them, gone after the last.
import { after, before } from "node:test";
import { launch, workplace } from "./browser.mjs";

export let place;
export let browser;

before(async () => {
  place = await workplace();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await place?.remove();
});
