// Makes the pictures of the report in docs/images: `node tests/browser/pictures.mjs [folder]`.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { launch, open, sampleReport, workplace } from "./browser.mjs";

const folder = process.argv[2] ?? path.join(path.dirname(fileURLToPath(import.meta.url)), "../../docs/images");

const PICTURES = [
  { name: "report-overview", hash: "", colorScheme: "light", viewport: { width: 1320, height: 820 } },
  { name: "report-overview-dark", hash: "", colorScheme: "dark", viewport: { width: 1320, height: 820 } },
  { name: "report-case", open: "refund-window", colorScheme: "light", viewport: { width: 1320, height: 820 } },
  { name: "report-case-dark", open: "fix-the-price", target: "hasty", colorScheme: "dark", viewport: { width: 1320, height: 820 } },
  { name: "report-narrow", hash: "", colorScheme: "light", viewport: { width: 420, height: 860 } },
];

const place = await workplace();
const browser = await launch();
try {
  const url = await sampleReport(place);
  await mkdir(folder, { recursive: true });
  for (const picture of PICTURES) {
    const { page } = await open(browser, url, picture);
    if (picture.open) {
      if (picture.target) await page.getByLabel("Any target").selectOption(picture.target);
      await page.getByRole("row").filter({ hasText: picture.open }).first().click();
    }
    await page.screenshot({ path: path.join(folder, `${picture.name}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  await place.remove();
}
