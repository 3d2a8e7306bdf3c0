#include <fmt/format.h>

#include "tests/context/summary/long_sessions.h"

namespace ebla::context::test {
namespace {

std::string sql(std::string_view query) {
  return fmt::format(R"({{"sql":{},"database":"warehouse"}})", json_token(query));
}

std::string month_table(double base) {
  std::string out = " month   | revenue_eur | orders\n---------+-------------+--------\n";
  for (int m = 1; m <= 12; ++m) {
    out += fmt::format(" 2024-{:02} | {:.2f} | {}\n", m, base + m * 1'234.5, 4'100 + m * 37);
  }
  return out + "(12 rows)\n";
}

std::string issue_list(size_t page) {
  std::string out = R"({"data":{"issues":{"nodes":[)";
  for (size_t i = 0; i < 40; ++i) {
    const size_t n = page * 40 + i;
    out += fmt::format(
        R"({}{{"id":"3f2a{:04}-11d2-4b3c-8a77-{:012}","number":{},"title":"Crash when opening \"report {}\"\nStacktrace attached","state":"open","labels":["bug","p{}"],"url":"https://tracker.example.com/issues/{}"}})",
        i == 0 ? "" : ",", n, n * 7919, 1'000 + n, n, n % 4, 1'000 + n);
  }
  return out +
         fmt::format(R"(],"pageInfo":{{"hasNextPage":true,"endCursor":"Y3Vyc29yOnYyO{}"}}}}}}}})",
                     page);
}

}  // namespace

Talk analyst_session() {
  Talk talk;
  Calls calls(talk);
  talk.user(
      "Why did our revenue in Q3 2024 fall against Q2? The data is in the warehouse, table "
      "sales.orders. Always exclude test accounts (account_id < 1000), and report in EUR, never "
      "USD.");
  calls.run("run_query",
            sql("SELECT column_name, data_type FROM information_schema.columns WHERE "
                "table_name='orders'"),
            "order_id | bigint\naccount_id | bigint\namount_usd | numeric\nfx_rate | "
            "numeric\nplaced_at | timestamptz\n(5 rows)\n",
            "Let me look at the table first.");
  calls.run("run_query",
            sql("SELECT date_trunc('month', placed_at) AS month,\n       sum(amount_usd * fx_rate) "
                "AS revenue_eur,\n       count(*) AS orders\nFROM sales.orders\nWHERE account_id "
                ">= 1000\nGROUP BY 1"),
            month_table(812'000));
  calls.run("run_query", sql("SELECT region, sum(amount) FROM sales.orders GROUP BY 1"),
            "ERROR:  column \"amount\" does not exist\nLINE 1: SELECT region, sum(amount) FROM "
            "sales.orders\n",
            "", true);
  calls.run("run_query",
            sql("SELECT r.name, sum(o.amount_usd * o.fx_rate) FROM sales.orders o JOIN "
                "sales.regions r USING (region_id) WHERE o.account_id >= 1000 GROUP BY 1"),
            "name | sum\nDACH | 4123456.10\nIberia | 1998003.55\nNordics | 877120.02\n(3 rows)\n",
            "Q2 was 2,481,337.50 EUR and Q3 2,209,118.25 EUR, a fall of 11.0 %. Iberia alone lost "
            "241,902.40 EUR.");
  talk.assistant(
      "Revenue fell by 11.0 % from 2,481,337.50 EUR (Q2) to 2,209,118.25 EUR (Q3). 89 % of the "
      "fall "
      "comes from Iberia, where the reseller Marisma (account_id 48213) stopped ordering on "
      "2024-08-12.");
  talk.user(
      "Is that with returns taken off? They are in sales.returns. Use the booking date, not the "
      "order date.");
  calls.run("run_query",
            sql("SELECT sum(r.amount_eur) FROM sales.returns r WHERE r.booked_at >= '2024-07-01' "
                "AND r.booked_at < '2024-10-01'"),
            "sum\n61204.80\n(1 row)\n");
  for (int i = 0; i < 12; ++i) {
    calls.run(
        "run_query",
        sql(fmt::format("SELECT count(*) FROM sales.returns WHERE reason_code = 'R{:02}'", i)),
        fmt::format("count\n{}\n(1 row)\n", 100 + i * 13));
  }
  calls.run("save_chart", R"({"path":"charts/q3 revenue by region.png","kind":"bar"})", "saved");
  talk.assistant(
      "With returns (booking date) Q3 is 2,147,913.45 EUR and Q2 2,433,020.11 EUR: a fall of 11.7 "
      "%. "
      "I chose the net amount without VAT because sales.returns has no VAT column.");
  talk.user(
      "Good. Write that up in reports/q3_revenue.md, at most one page, and don't mention Marisma "
      "by name.");
  calls.run(
      "write_file",
      R"({"path":"reports/q3_revenue.md","content":"# Q3 revenue\n\nNet revenue fell by 11.7 %.\n"})",
      "ok", "Next I will add the table by region and check the totals once more.");
  calls.run("run_query",
            sql("SELECT sum(amount_usd * fx_rate) FROM sales.orders WHERE account_id >= 1000 AND "
                "placed_at >= '2024-07-01'"),
            "ERROR:  canceling statement due to statement timeout\n", "", true);
  talk.assistant("The check of the totals timed out.");
  pin_first_request(talk);
  return talk;
}

Talk clerk_session() {
  Talk talk;
  Calls calls(talk);
  talk.user(
      "请整理 /数据/客户 目录下的表格，把重复的客户合并成一张总表，保存为 客户总表.xlsx。\n"
      "要求：\n1. 不要删除原文件。\n2. 手机号必须保留前导零。\n3. "
      "金额一律用人民币，保留两位小数。");
  calls.run("list_dir", R"({"path":"/数据/客户"})",
            "华东客户.xlsx\n华南客户（旧）.xlsx\n北京 2023.csv\n说明.txt\n",
            "我先看看目录里有哪些文件。");
  calls.run("read_file", R"({"path":"/数据/客户/说明.txt"})", "编码为 GBK，金额单位为万元。\n");
  calls.run("read_file", R"({"path":"/数据/客户/华东客户.xlsx"})",
            "客户编号,名称,手机号,金额\nKH-00017,杭州云帆,013800001234,12.5\n");
  calls.run(
      "python",
      R"j({"code":"import pandas as pd\ndf = pd.read_csv('/数据/客户/北京 2023.csv')\nprint(len(df))"})j",
      "Traceback (most recent call last):\n  File \"<stdin>\", line 2, in "
      "<module>\nUnicodeDecodeError: 'utf-8' codec can't decode byte 0xbf\n",
      "", true);
  calls.run(
      "python",
      R"j({"code":"df = pd.read_csv('/数据/客户/北京 2023.csv', encoding='gbk', dtype=str)\nprint(len(df))"})j",
      "1842\n", "文件是 GBK 编码，因此改用 encoding='gbk' 读取，手机号按字符串处理。");
  talk.assistant(
      "三个文件共 5,317 行，去重后 4,906 "
      "个客户。重复的判断标准我选择了“手机号加名称”，而不是客户编号，因为旧表的编号有冲突。");
  talk.user(
      "可以。另外 KH-00017 和 KH-01203 是同一家公司，要合并，以后都按税号 91330106MA2KXXXX1C "
      "判断。别改客户编号的格式。");
  for (int i = 0; i < 10; ++i) {
    calls.run("python", fmt::format(R"j({{"code":"merge(part={})\nprint(report())"}})j", i),
              fmt::format("第 {} 部分：合并 {} 条\n", i, 37 + i));
  }
  calls.run("write_file", R"({"path":"/数据/客户/客户总表.xlsx","content":"…"})",
            "已写入 4,905 行");
  talk.assistant("总表已保存到 /数据/客户/客户总表.xlsx，共 4,905 个客户，金额已从万元换算成元。");
  talk.user("发现有 12 个客户没有手机号，请单独列到 缺失手机号.csv，并且不要放进总表。");
  calls.run("python", R"j({"code":"missing = df[df['手机号'].isna()]\nprint(len(missing))"})j",
            "错误：列名 '手机号' 不存在\nexit code 1\n",
            "接下来我会先检查总表的列名，然后导出缺失手机号的客户。");
  talk.assistant("列名不一致，正在检查。");
  pin_first_request(talk);
  return talk;
}

Talk support_session() {
  Talk talk;
  talk.user(
      "Hello, my washing machine W7 Pro (serial 7K-2291-884) shows E21 since yesterday and does "
      "not spin. I "
      "bought it on 2023-11-04, order 40011873.");
  talk.assistant(
      "I'm sorry to hear that. E21 means that the drain pump is blocked. Have you cleaned the "
      "filter behind "
      "the flap at the bottom right?");
  talk.user(
      "Yes, twice. There was a coin in it. It still shows E21. Please never call me by phone, I "
      "am deaf; e-mail only: "
      "m.keller@example.org.");
  talk.assistant(
      "Thank you, I have noted that we contact you by e-mail only. Please try this: switch it "
      "off for ten minutes, "
      "then start the program \"Drain\". Does the pump hum?");
  talk.user("It hums but no water comes out. And I have a small child, so I can't wait for weeks.");
  talk.assistant(
      "Then the pump wheel is broken. Your machine is under warranty until 2025-11-04, so the "
      "repair is free. I can "
      "offer a technician on Thursday the 14th between 8 and 12, or a replacement machine in "
      "nine days.");
  talk.user(
      "Thursday is fine, but only after 10, and he must bring a new door seal too, it is torn. "
      "Part number 00772630.");
  talk.assistant(
      "I have booked Thursday the 14th, 10 to 12, technician reference TR-55102, with the drain "
      "pump and the door seal "
      "00772630. The seal is not covered by the warranty: it costs 39.90 EUR. Do you agree?");
  talk.user("No, the seal tore because of the coin from the pump. I don't agree to pay. What now?");
  talk.assistant(
      "I understand. I have asked my supervisor to cover it as a gesture of goodwill; I will "
      "write to you by tomorrow noon.");
  talk.user("OK. And do I have to remove the laundry that is still in the drum?");
  talk.assistant("Please leave it; the technician drains the water first.");
  pin_first_request(talk);
  return talk;
}

Talk json_session() {
  Talk talk;
  Calls calls(talk);
  talk.user(
      "Go through the open issues of project ATLAS in the tracker and close the duplicates of "
      "#1017. Never close anything "
      "labelled p0, and leave a comment \"duplicate of #1017\" on each one you close.");
  for (size_t page = 0; page < 5; ++page) {
    calls.run(
        "tracker_search",
        fmt::format(
            R"({{"query":"project:ATLAS state:open","first":40,"after":"Y3Vyc29yOnYyO{}"}})", page),
        issue_list(page));
  }
  talk.assistant(
      "200 issues are open, 23 of them look like #1017 (same stack trace in "
      "ReportLoader::open).");
  talk.user("Start with the ten oldest and tell me the numbers.");
  for (size_t n = 0; n < 10; ++n) {
    calls.run(
        "tracker_close",
        fmt::format(R"({{"number":{},"comment":"duplicate of #1017"}})", 1'031 + n * 3),
        n == 7
            ? R"({"ok":false,"error":{"code":"FORBIDDEN","message":"label p0 is protected","requestId":"b7c9"}})"
            : fmt::format(
                  R"({{"ok":true,"issue":{{"number":{},"state":"closed","closedAt":"2024-05-01T12:00:00Z"}}}})",
                  1'031 + n * 3),
        n == 0 ? "I decided to go by creation date, oldest first." : "", false);
  }
  talk.assistant(
      "Closed nine: 1031, 1034, 1037, 1040, 1043, 1046, 1049, 1055, 1058. 1052 is protected (p0) "
      "and stays open.");
  talk.user("Good, now the next thirteen.");
  calls.run("tracker_search", R"({"query":"duplicate-of:1017 state:open","first":40})",
            issue_list(6));
  talk.assistant("Next I close 1061 and the twelve after it.");
  pin_first_request(talk);
  return talk;
}

}  // namespace ebla::context::test
