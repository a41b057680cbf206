// Makes the pictures of the report in docs/images: `node tests/browser/pictures.mjs [folder]`.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open, sampleReport, workplace } from "./browser.mjs";

const folder = process.argv[2] ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");

const WIDE = { width: 1320, height: 820 };
const PICTURES = [
  { name: "report", colorScheme: "light", viewport: WIDE },
  { name: "report-dark", colorScheme: "dark", viewport: WIDE },
  {
    name: "report-case",
    open: ["careful", "refund-window"],
    scrollTo: "What it did",
    colorScheme: "light",
    viewport: WIDE,
  },
  {
    name: "report-diff",
    open: ["hasty", "fix-the-price"],
    scrollTo: "What it did",
    colorScheme: "dark",
    viewport: WIDE,
  },
  {
    name: "report-narrow",
    open: ["careful", "refund-window"],
    colorScheme: "light",
    viewport: { width: 420, height: 820 },
  },
];

const place = await workplace();
const browser = await launch();
try {
  const url = await sampleReport(place);
  await mkdir(folder, { recursive: true });
  for (const picture of PICTURES) {
    const { page } = await open(browser, url, picture);
    if (picture.open) {
      const [target, id] = picture.open;
      await page.getByLabel("Any target").selectOption(target);
      await page.getByRole("row").filter({ hasText: id }).first().click();
    }
    if (picture.scrollTo)
      await page.getByRole("heading", { name: picture.scrollTo }).evaluate((heading) => heading.scrollIntoView());
    await page.screenshot({ path: path.join(folder, `${picture.name}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  await place.remove();
}
